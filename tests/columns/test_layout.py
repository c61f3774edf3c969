import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.columns.layout import are_due, due
from kminilog.format.index_entry import is_due

LENGTHS = st.lists(st.integers(14, 200), max_size=60)


@given(lengths=LENGTHS, interval=st.sampled_from([0, 1, 14, 100, 1000]), last=st.integers(0, 90))
def test_due_is_the_one_rule_for_each_message(lengths, interval, last):
    positions = (np.cumsum([last, *lengths]) - 1).tolist()[1:]
    expected, last_indexed = [], last
    for slot, position in enumerate(positions):
        if is_due(position, last_indexed, interval):
            expected.append(slot)
            last_indexed = position
    view = np.array(positions, np.int64).data
    assert due(view, last, interval) == expected
    assert due(view, last, interval, at_most=2) == expected[:2]
    half = range(len(positions) // 2)
    assert due(view, last, interval, half) == [slot for slot in expected if slot in half]


@settings(max_examples=300)
@given(
    lengths=st.lists(st.integers(1, 4), max_size=30),
    interval=st.integers(0, 8),
    last=st.integers(0, 9),
    data=st.data(),
)
def test_are_due_is_true_of_what_due_finds_and_of_nothing_else(lengths, interval, last, data):
    positions = np.cumsum([last, *lengths], dtype=np.int64)[1:]
    slots = due(positions.data, last, interval)
    found = positions[slots]
    assert are_due(positions, last, interval, found)
    some = st.sampled_from(positions.tolist()) if len(positions) else st.nothing()
    changed = set(found.tolist()) ^ data.draw(st.sets(some | st.integers(0, 99), max_size=2))
    other = np.array(sorted(changed), np.int64)
    assert are_due(positions, last, interval, other) == (other.tolist() == found.tolist())
