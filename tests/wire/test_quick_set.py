"""The fast way through a message set of v0 beside the one that knows all formats."""

from random import Random
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.format.dialect import KAFKA
from kminilog.format.message import KeyValue, encode
from kminilog.wire.errors import RefusedError
from kminilog.wire.quick_set import renumbered
from kminilog.wire.record_sets import decode_record_set
from tests.support.broker_files.partition_writer import batch
from tests.support.wire.record_sets import message, set_of, wrapped

texts = st.none() | st.binary(max_size=20)
messages = st.lists(st.tuples(texts, texts), max_size=5)


FIRST = 1_000


def slowly(data: bytes) -> list[bytes] | None:
    """Return the bytes of the messages of a set when they are decoded; None if it is refused."""
    try:
        found = decode_record_set(data).messages
    except RefusedError:
        return None
    return encoded(found)


def encoded(found: list[KeyValue]) -> list[bytes]:
    return [encode(KAFKA, offset, *each) for offset, each in enumerate(found, FIRST)]


@given(messages)
def test_quick_set_is_what_the_plain_way_gives(given_messages):
    data = b"".join(encode(KAFKA, 0, *each) for each in given_messages)
    assert renumbered(data, FIRST) == slowly(data) == encoded(given_messages)


@given(messages.filter(len), st.data())
def test_quick_set_gives_up_where_the_plain_way_refuses(given_messages, data):
    whole = b"".join(encode(KAFKA, 0, *each) for each in given_messages)
    at = data.draw(st.integers(0, len(whole) - 1))
    if data.draw(st.booleans()):
        damaged = whole[:at]
    else:
        damaged = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    quick, plain = renumbered(damaged, FIRST), slowly(damaged)
    assert quick is None or quick == plain


# ---- with right checksums: only the other fields can tell


def some_messages(chance: Random) -> list[tuple[bytes | None, bytes | None]]:
    def part() -> bytes | None:
        return None if chance.random() < 0.2 else chance.randbytes(chance.randrange(9))

    return [(part(), part()) for _ in range(chance.randrange(6))]


def with_right_crcs(data: bytes) -> bytes:
    """Return messages with the checksums that their bytes give, as far as they are whole."""
    changed, position = bytearray(data), 0
    while position + 26 <= len(data):
        size = int.from_bytes(data[position + 8 : position + 12], signed=True)
        if size < 14:
            break
        end = position + 12 + size
        changed[position + 12 : position + 16] = crc32(changed[position + 16 : end]).to_bytes(4)
        position = end
    return bytes(changed)


@pytest.mark.parametrize("rounds", [2000, pytest.param(200_000, marks=pytest.mark.soak)])
def test_quick_set_with_right_checksums_is_what_the_plain_way_gives(rounds):
    chance = Random(8)
    taken = 0
    for _ in range(rounds):
        data = bytearray(set_of(some_messages(chance)))
        for _ in range(chance.randrange(3) if data else 0):
            at = chance.randrange(len(data))
            data[at] = chance.choice((0, 1, 2, 127, 128, 255, data[at] ^ 1))
        changed = bytes(data[: len(data) - chance.choice((0, 0, 0, 1, 9))])
        if chance.random() < 0.7:
            changed = with_right_crcs(changed)
        found = renumbered(changed, FIRST)
        if found is not None:
            taken += 1
            assert found == slowly(changed)
    assert taken > rounds / 5


@pytest.mark.parametrize(
    "data",
    [
        set_of([(b"k", b"v")], magic=1),
        wrapped([(b"k", b"v")], "gzip"),
        batch(0, [(b"k", b"v")]),
        message(b"k", b"v") + batch(0, [(b"k", b"v")]),
        message(b"k", b"v", attributes=8),
        message(b"k", b"v")[:-1],
        message(b"k", b"v") + b"\0",
    ],
    ids=["v1", "packed", "v2", "mixed", "attributes", "cut", "a byte more"],
)
def test_quick_set_gives_up_where_a_set_is_not_plain(data):
    assert renumbered(data, 0) is None
