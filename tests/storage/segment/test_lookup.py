"""The three searches on plain values: what they answer, and what a trace says of them."""

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.explain.recorded_search import HeaderRead, Trace
from kminilog.format.message import encode, scan
from kminilog.storage.segment.lookup import ENTRIES, NAMES, entry_slot, segment_slot, walk

ascending = st.lists(st.integers(0, 1000), unique=True).map(sorted)


def messages(dialect, first_offset, count):
    """Return messages of several lengths, back to back, and where each begins, and the end."""
    encoded = [
        encode(dialect, first_offset + number, b"k" * (number % 3), b"v" * number)
        for number in range(count)
    ]
    return b"".join(encoded), [sum(map(len, encoded[:number])) for number in range(count + 1)]


@given(ascending, st.integers(-1, 1001))
def test_entry_slot_is_the_last_entry_that_is_not_above(relative_offsets, wanted):
    below = [slot for slot, offset in enumerate(relative_offsets) if offset <= wanted]
    trace = Trace()
    assert entry_slot(relative_offsets, wanted, trace) == (below[-1] if below else -1)
    assert len(trace.probes(ENTRIES)) <= len(relative_offsets).bit_length()


def test_walk_stands_in_front_of_each_offset_that_is_there(dialect):
    data, begins = messages(dialect, 5, 9)
    for offset in range(5, 14):
        assert walk(data, 0, 5, offset) == (begins[offset - 5], offset)
        assert walk(data, begins[1], 6, max(offset, 6)) == (
            begins[max(offset, 6) - 5],
            max(offset, 6),
        )
    assert walk(data, 0, 5, 99) == (begins[9], 14)


def test_walk_in_bytes_that_end_early_stands_in_front_of_the_last_message(dialect):
    data, begins = messages(dialect, 0, 4)
    for end in range(begins[2], begins[3]):
        assert walk(data[:end], 0, 0, 3) == (begins[2], 2)


def test_walk_does_not_pass_a_changed_byte(dialect):
    data, begins = messages(dialect, 0, 4)
    for position in range(begins[1], begins[2]):
        changed = bytearray(data)
        changed[position] ^= 1
        at, next_offset = walk(bytes(changed), 0, 0, 3)
        assert (at, next_offset) == (begins[1], 1), position


def test_walk_does_not_pass_a_message_whose_size_leads_into_a_payload(dialect):
    """The payload ends with a message that has the next offset."""
    inner = encode(dialect, 1, None, b"not this one")
    outer = encode(dialect, 0, None, b"before" + inner)
    data = bytearray(outer + encode(dialect, 1, None, b"this one"))
    data[8:12] = (len(outer) - len(inner) - 12).to_bytes(4)
    assert walk(bytes(data), 0, 0, 1) == (0, 0)


@pytest.mark.parametrize("size", [-(2**31), -13, -12, -1, 0, 9, 2**31 - 1])
def test_walk_over_an_impossible_size_goes_nowhere(dialect, size):
    data = bytearray(encode(dialect, 0, None, b"a") + encode(dialect, 1, None, b"b"))
    data[8:12] = size.to_bytes(4, signed=True)
    data[12:16] = bytes(4)  # the checksum of nothing
    assert walk(bytes(data), 0, 0, 1) == (0, 0)


@pytest.mark.parametrize("more", [1, 5, 28, 2**20])
def test_walk_does_not_pass_a_last_message_whose_size_reaches_past_the_end(dialect, more):
    """Its checksum is right for the bytes that are there, which a slice would be content with."""
    data, begins = messages(dialect, 5, 2)
    size = begins[2] - begins[1] - 12 + more
    longer = data[: begins[1] + 8] + size.to_bytes(4) + data[begins[1] + 12 :]
    assert walk(longer, 0, 5, 7) == (begins[1], 6)


def test_trace_has_each_header_that_the_walk_read_where_it_stands_in_the_file(dialect):
    data, begins = messages(dialect, 7, 5)
    trace = Trace()
    walk(data, 0, 7, 10, start=1000, tracer=trace)
    told = dict(scan(dialect, data))
    assert trace.header_reads == [
        HeaderRead(1000 + at, (told[at].offset, told[at].size, told[at].crc)) for at in begins[:4]
    ]


def test_trace_of_a_search_has_nothing_of_the_one_before(dialect):
    trace = Trace()
    segment_slot(dialect, [0, 5], 7, trace)
    walk(*messages(dialect, 0, 1)[:1], 0, 0, 9, tracer=trace)
    trace.begin()
    assert (trace.probes(NAMES), trace.header_reads) == ([], [])
    assert bisect_right([0, 5], 7) - 1 == segment_slot(dialect, [0, 5], 7, trace)
    assert trace.probes(NAMES)
