"""The quick way to decode a record gives what the plain one gives, whatever the bytes are."""

from hypothesis import example, given
from hypothesis import strategies as st

from kminilog.broker_files.quick_record import quick_record
from kminilog.broker_files.record_batch import BatchHeader, decode_record, decode_records
from tests.support.broker_files.partition_writer import record, varint

HEADER = BatchHeader(7, 0, 0, 2, 0, 0, 0, 1000, 5000, -1, -1, -1, 0)
texts = st.none() | st.binary(max_size=9) | st.binary(min_size=64, max_size=200)
numbers = st.integers(-70, 70) | st.integers(-(1 << 31), (1 << 31) - 1)
headers = st.builds(
    HEADER._replace,
    attributes=st.sampled_from([0, 0x08]),
    base_sequence=st.sampled_from([-1, 0, (1 << 31) - 2]),
)


@st.composite
def payloads(draw: st.DrawFn) -> tuple[bytes, int]:
    """Return the bytes of some records and their number; a byte of them may be any other."""
    records = draw(st.lists(st.builds(record, numbers, texts, texts, numbers), max_size=4))
    if draw(st.booleans()):
        key = b"h" * draw(st.integers(0, 3))
        body = b"\0\0\0\1\1" + varint(1) + varint(len(key)) + key + varint(-1)
        records.append(varint(len(body)) + body)
    data = b"".join(records)
    if data and draw(st.booleans()):
        at = draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw(st.binary(max_size=3)) + data[at + 1 :]
    return data, len(records)


@given(headers, payloads() | st.tuples(st.binary(max_size=40), st.integers(0, 4)))
@example(HEADER, (bytes.fromhex("0e 00 00 00 01 01 00"), 1))  # a byte is missing
@example(HEADER, (bytes.fromhex("0c 00 00 8080808010 01 01 00"), 1))  # more than 32 bits
def test_quick_record_of_any_bytes_is_the_plain_one(
    header: BatchHeader, payload: tuple[bytes, int]
) -> None:
    data, count = payload
    header = header._replace(record_count=count)
    plain = list(decode_records(header, data, decode_record))
    assert list(decode_records(header, data, quick_record)) == plain


def test_quick_record_leaves_no_plain_record_to_the_slow_way(monkeypatch) -> None:
    monkeypatch.setattr("kminilog.broker_files.quick_record.decode_record", None)
    data = record(300, b"k" * 100, None, time_delta=100_000)
    assert quick_record(HEADER, data, 0)[0].offset == 307
