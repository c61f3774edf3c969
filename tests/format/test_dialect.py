from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.storage.segment.lookup import segment_slot

next_offsets = st.sets(st.integers(2, 10_000), max_size=12)


@given(next_offsets, st.sampled_from(sorted(DIALECTS.values(), key=str)), st.integers(0, 10_100))
def test_segment_slot_of_any_log_is_the_segment_that_begins_last_before(rolls, dialect, offset):
    """A plain search for the same thing: which segment began last, at or before the offset?"""
    begins_at = [0, *sorted(rolls)]
    names = [dialect.base_offset_for(next_offset) for next_offset in begins_at]
    expected = max(slot for slot, first in enumerate(begins_at) if first <= offset)
    assert segment_slot(dialect, names, offset) == expected
    assert [dialect.first_offset(name) for name in names] == begins_at


@given(st.integers(0, 2**63 - 2))
def test_can_follow_is_false_only_where_the_name_would_be_the_same(next_offset):
    for dialect in DIALECTS.values():
        name = dialect.base_offset_for(next_offset)
        assert not dialect.can_follow(name, next_offset)
        assert dialect.can_follow(name, next_offset + 2)
    assert KAFKA.can_follow(0, 1)
    assert not DOCUMENTED.can_follow(0, 1)
