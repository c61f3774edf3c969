import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry, decode_entries, encode_entry, is_due

ascending = st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=20).map(sorted)


@given(ascending, ascending)
def test_entries_encoded_and_decoded_are_the_same(offsets, positions):
    entries = [IndexEntry(*pair) for pair in zip(offsets, positions, strict=False)]
    assert decode_entries(b"".join(map(encode_entry, entries))) == entries


@pytest.mark.parametrize(
    ("entries", "position"),
    [([(1, 10), (1, 20)], 8), ([(1, 10), (2, 10)], 8), ([(1, 10), (2, 20), (0, 0)], 16)],
)
def test_entries_that_do_not_ascend_are_refused_with_the_place(entries, position):
    data = b"".join(encode_entry(IndexEntry(*entry)) for entry in entries)
    with pytest.raises(CorruptBytesError, match=f"does not ascend at byte {position}"):
        decode_entries(data)


def test_entries_with_a_torn_one_are_refused_with_the_place():
    with pytest.raises(CorruptBytesError, match="torn index entry at byte 8"):
        decode_entries(encode_entry(IndexEntry(1, 10)) + b"\0\0\0")


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(0, 1000))
def test_is_due_leaves_no_stretch_unindexed_and_no_entry_too_early(lengths, interval_bytes):
    last, position = 0, 0
    for length in lengths:
        if is_due(position, last, interval_bytes):
            assert position - last > interval_bytes
            last = position
        assert position - last <= interval_bytes
        position += length
