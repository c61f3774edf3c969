import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import (
    IndexEntry,
    decode_entries,
    decode_entry,
    encode_entry,
    entry_for,
    is_due,
)

INT31 = 2**31 - 1


def ascending(first: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(first, INT31), unique=True, max_size=20).map(sorted)


@given(st.integers(0, 2**63 - 1), st.integers(0, INT31), st.integers(0, INT31))
def test_entry_for_a_message_comes_back_from_its_bytes(base_offset, relative_offset, position):
    entry = entry_for(base_offset + relative_offset, position, base_offset)
    assert entry == (relative_offset, position)
    assert decode_entry(encode_entry(entry)) == entry


@pytest.mark.parametrize(
    ("offset", "position"), [(99, 10), (100 + INT31 + 1, 10), (101, -1), (101, INT31 + 1)]
)
def test_entry_for_a_number_that_does_not_fit_is_refused_in_one_sentence(offset, position):
    with pytest.raises(ValueError, match=f"no index entry for offset {offset} at byte {position} "):
        entry_for(offset, position, 100)


@given(ascending(0), ascending(1))
def test_entries_encoded_and_decoded_are_the_same(offsets, positions):
    entries = [IndexEntry(*pair) for pair in zip(offsets, positions, strict=False)]
    assert decode_entries(b"".join(map(encode_entry, entries))) == entries


@pytest.mark.parametrize(
    ("entries", "position"),
    [
        ([(1, 10), (1, 20)], 8),
        ([(1, 10), (2, 10)], 8),
        ([(1, 10), (2, 20), (0, 0)], 16),
        ([(1, 0), (3, 497), (6, 1407)], 0),  # the first message never gets an entry
        ([(-1, 10), (3, 497)], 0),
        ([(-5, -7)], 0),
        ([(0, 0)], 0),
    ],
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
