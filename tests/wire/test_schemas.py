"""The table of messages: what is encoded comes back, and no bytes do harm."""

import contextlib
import tracemalloc
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.wire.schemas import (
    APIS,
    MESSAGES,
    MOST_ELEMENTS,
    MalformedError,
    WireField,
    decode,
    encode,
    fields_of,
)
from tests.support.wire.exchange import short

NEWEST = {
    f"{api.name}{kind}": api.newest for api in APIS.values() for kind in ("Request", "Response")
}
VERSIONS = [(name, version) for name in MESSAGES for version in range(NEWEST.get(name, 1) + 1)]
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}

OFFSETS = {"name": "t", "partitions": [{}]}
OFFSETS_HEX = "00000000 00000001 0001 74 00000001 00000000 0000000000000000"


def values(field: WireField) -> st.SearchStrategy:
    if field.fields:
        one = messages(field.fields)
    elif field.type in BITS:
        bits = BITS[field.type] - 1
        one = st.integers(-(1 << bits), (1 << bits) - 1)
    elif field.type == "bool":
        one = st.booleans()
    elif field.type == "string":
        one = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
    else:
        one = st.binary(max_size=9) | (st.none() if not field.is_array else st.nothing())
    if field.is_array:
        one = st.lists(one, max_size=3)
    return one | st.none() if field.is_nullable else one


def messages(fields: tuple[WireField, ...]) -> st.SearchStrategy:
    return st.fixed_dictionaries({field.name: values(field) for field in fields})


def random_message(name: str, version: int, chance: Random) -> dict:
    """Return a message with random fields: as `messages`, but many times as fast."""

    def one(field: WireField):
        if field.fields:
            return {each.name: value(each) for each in field.fields}
        if field.type in BITS:
            return chance.randrange(1 << (BITS[field.type] - 1)) - chance.randrange(2)
        if field.type == "bool":
            return chance.random() < 0.5
        size = chance.randrange(6)
        return "ä€x"[: size % 4] if field.type == "string" else chance.randbytes(size)

    def value(field: WireField):
        if field.is_nullable and chance.random() < 0.2:
            return None
        return [one(field) for _ in range(chance.randrange(4))] if field.is_array else one(field)

    return {field.name: value(field) for field in fields_of(name, version)}


@given(st.data())
def test_message_that_was_encoded_comes_back(data):
    name, version = data.draw(st.sampled_from(VERSIONS))
    value = data.draw(messages(fields_of(name, version)))
    encoded = encode(name, version, value)
    assert decode(name, version, encoded) == (value, len(encoded))
    before = data.draw(st.binary(max_size=5))
    assert decode(name, version, before + encoded, len(before)) == (
        value,
        len(before) + len(encoded),
    )


def test_every_message_comes_back_in_every_version():
    chance = Random(1)
    for name, version in VERSIONS:
        for _ in range(20):
            value = random_message(name, version, chance)
            encoded = encode(name, version, value)
            assert decode(name, version, encoded) == (value, len(encoded)), (name, version)


def test_every_message_without_values_has_defaults_that_come_back():
    for name, version in VERSIONS:
        encoded = encode(name, version, {})
        found, end = decode(name, version, encoded)
        assert (encode(name, version, found), end) == (encoded, len(encoded)), (name, version)


def test_message_that_is_cut_short_is_malformed():
    chance = Random(2)
    for name, version in VERSIONS:
        encoded = encode(name, version, random_message(name, version, chance))
        for length in range(len(encoded)):
            with pytest.raises(MalformedError):
                decode(name, version, encoded[:length])


@pytest.mark.parametrize("rounds", [40, pytest.param(4000, marks=pytest.mark.soak)])
def test_changed_bytes_are_a_message_or_malformed_and_nothing_else(rounds):
    chance = Random(3)
    for name, version in VERSIONS:
        for _ in range(rounds):
            data = bytearray(encode(name, version, random_message(name, version, chance)))
            for _ in range(chance.randrange(1, 4)):
                if data:
                    data[chance.randrange(len(data))] = chance.choice((0, 1, 127, 128, 255))
            try:
                found, end = decode(name, version, bytes(data))
            except MalformedError:
                continue
            again = encode(name, version, found)
            assert decode(name, version, again) == (found, len(again))
            assert end <= len(data)


@given(st.data())
def test_random_bytes_are_a_message_or_malformed_and_nothing_else(data):
    name, version = data.draw(st.sampled_from(VERSIONS))
    with contextlib.suppress(MalformedError):
        decode(name, version, data.draw(st.binary(max_size=60)))


@pytest.mark.parametrize(
    ("name", "version", "data"),
    [
        ("MetadataRequest", 1, (0x7FFFFFFF).to_bytes(4) + bytes(100)),
        ("MetadataResponse", 0, (0x7FFFFFFF).to_bytes(4) + bytes(100)),
        ("ProduceRequest", 0, bytes(6) + (0x7FFFFFFF).to_bytes(4) + bytes(100)),
        ("DescribeGroupsRequest", 0, (0x10000000).to_bytes(4)),
        ("FindCoordinatorRequest", 0, b"\x7f\xff"),
        ("ConsumerProtocolSubscription", 0, bytes(4) + b"\x7f\xff\xff\xff"),
        ("MetadataRequest", 1, (1_000_000).to_bytes(4) + bytes(2_000_000)),  # empty names
        ("FetchRequest", 0, bytes(12) + (1_000_000).to_bytes(4) + bytes(6_000_000)),
        (
            "CreateTopicsRequest",
            0,
            (30_000).to_bytes(4) + (bytes(8) + (2).to_bytes(4) + bytes(8 * 2) + bytes(4)) * 30_000,
        ),
    ],
    ids=short,
)
def test_claims_take_no_memory(name, version, data):
    tracemalloc.start()
    try:
        with pytest.raises(MalformedError):
            decode(name, version, data)
        assert tracemalloc.get_traced_memory()[1] < 30 << 20
    finally:
        tracemalloc.stop()


def test_as_many_elements_as_are_allowed_are_decoded():
    most = MOST_ELEMENTS.to_bytes(4) + bytes(2 * MOST_ELEMENTS)
    assert len(decode("MetadataRequest", 1, most)[0]["topics"]) == MOST_ELEMENTS


@pytest.mark.parametrize(
    ("name", "version", "data", "said"),
    [
        ("HeartbeatRequest", 0, "ffff", "group_id: a length of -1"),
        ("HeartbeatRequest", 0, "0001 ff 00000000 0000", "group_id: no UTF-8"),
        ("HeartbeatRequest", 0, "0005 67", "group_id: the bytes end before it does"),
        ("MetadataRequest", 1, "fffffffe", "topics: an array of -2 elements"),
        ("DescribeGroupsRequest", 0, "ffffffff", "groups: an array of -1 elements"),
        ("ConsumerProtocolSubscription", 0, "00000000 fffffffe", "user_data: a length of -2"),
    ],
)
def test_what_is_wrong_is_said_with_the_field(name, version, data, said):
    with pytest.raises(MalformedError) as caught:
        decode(name, version, bytes.fromhex(data))
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("name", "version", "value", "data"),
    [
        # As Kafka's documents have them: an array of null is all topics from version 1 on.
        ("MetadataRequest", 1, {"topics": None}, "ffffffff"),
        ("ProduceResponse", 0, {"responses": []}, "00000000"),
        ("ListOffsetsRequest", 0, {"topics": [OFFSETS]}, f"{OFFSETS_HEX} 00000000"),
        ("ListOffsetsRequest", 1, {"topics": [OFFSETS]}, OFFSETS_HEX),
        ("ProduceResponse", 1, {"responses": []}, "00000000 00000000"),
        ("JoinGroupRequest", 0, {"group_id": "g"}, "0001 67 00000000 0000 0000 00000000"),
        ("JoinGroupRequest", 1, {"group_id": "g"}, "0001 67 00000000 00000000 0000 0000 00000000"),
    ],
)
def test_bytes_of_a_message(name, version, value, data):
    assert encode(name, version, value).hex() == data.replace(" ", "")
