import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns.boundaries import NO_HINTS, find_beginnings
from kminilog.columns.checking import read_structure
from kminilog.columns.decoding import SCHEMA, to_batch
from kminilog.format.dialect import KAFKA
from kminilog.format.message import Message, encode, scan
from tests.support.columns.strategies import both_dialects, log_of, messages
from tests.support.damage import message_positions


def decode(dialect, content, hints=NO_HINTS, start_position=0):
    """The messages as a batch, whatever their crcs, and where they end."""
    found = read_structure(dialect, content, find_beginnings(dialect, content, hints))
    return to_batch(content, found, start_position), found.end


@both_dialects
@given(data=st.data(), start_position=st.sampled_from([0, 5000]))
def test_decode_gives_the_messages_of_the_plain_scan(dialect, data, start_position):
    content = log_of(dialect, data.draw(messages(dialect)), data.draw(st.integers(0, 2**62)))
    content = content[: len(content) - data.draw(st.integers(0, 30))]
    hints = np.array(data.draw(st.sampled_from([[], message_positions_of(dialect, content)])), int)
    batch, end = decode(dialect, content, hints, start_position)
    batch.validate(full=True)
    assert batch.schema == SCHEMA
    plain = [(p, m) for p, m in scan(dialect, content) if isinstance(m, Message)]
    assert list(batch.to_pylist()) == [
        {"offset": m.offset, "position": start_position + p, "key": m.key, "value": m.value}
        for p, m in plain
    ]
    assert end == (plain[-1][0] + plain[-1][1].length_bytes if plain else 0)


def message_positions_of(dialect, content: bytes) -> list[int]:
    return [position for position, _ in scan(dialect, content)]


@both_dialects
def test_decode_reads_on_over_a_wrong_crc_and_ends_at_a_wrong_field(dialect):
    content = bytearray(log_of(dialect, [(b"k", b"v%d" % n) for n in range(5)]))
    positions = message_positions(bytes(content))
    content[positions[1] + 12] ^= 1  # crc
    content[positions[3] + 16] ^= 1  # magic
    batch, end = decode(dialect, bytes(content))
    assert batch["value"].to_pylist() == [b"v0", b"v1", b"v2"]
    assert end == positions[3]


@both_dialects
def test_decode_does_not_keep_what_it_read(dialect):
    content = bytearray(log_of(dialect, [(b"key", b"value"), (b"k", b"")]))
    batch, _ = decode(dialect, content)
    content[:] = bytes(len(content))
    assert batch["key"].to_pylist() == [b"key", b"k"]


@both_dialects
def test_batch_of_the_first_messages(dialect):
    content = log_of(dialect, [(b"k", b"v%d" % n) for n in range(5)])
    found = read_structure(dialect, content, find_beginnings(dialect, content))
    for count in range(6):
        batch = to_batch(content, found.first(count))
        batch.validate(full=True)
        assert batch["key"].to_pylist() == [b"k"] * count
        assert batch["value"].to_pylist() == [b"v%d" % n for n in range(count)]


def test_decode_of_nulls_keeps_them_apart_from_empty():
    content = encode(KAFKA, 0, None, b"") + encode(KAFKA, 1, b"", None)
    batch, _ = decode(KAFKA, content)
    assert batch["key"].to_pylist() == [None, b""]
    assert batch["value"].to_pylist() == [b"", None]
    assert isinstance(batch, pa.RecordBatch)
