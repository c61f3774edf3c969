"""The small files of a broker: what they say, and one line of what is wrong with them."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.broker_files.checkpoints import (
    ProducerState,
    parse_leader_epochs,
    parse_meta_properties,
    parse_offsets,
    parse_partition_metadata,
    parse_producer_snapshot,
)
from tests.support.damage import crc32c

PARSERS = [
    parse_leader_epochs,
    parse_offsets,
    parse_producer_snapshot,
    parse_partition_metadata,
    parse_meta_properties,
]
STATE = ProducerState(4000, 5, 17, 119, 3, 1_700_000_000_000, -1, -1)


def snapshot(*states, version=1, count=None):
    entries = b"".join(struct.pack(">qhiqiqiq", *state) for state in states)
    content = struct.pack(">i", len(states) if count is None else count) + entries
    return struct.pack(">hI", version, crc32c(content)) + content


@pytest.mark.parametrize("count", [0, 1, 3])
def test_snapshot_holds_its_producers(count):
    assert parse_producer_snapshot(snapshot(*[STATE] * count)) == [STATE] * count


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", "0 bytes, below the smallest, 10"),
        (snapshot(version=2), "unknown file version 2"),
        (snapshot(STATE)[:-1], "CRC is no longer valid"),
        (snapshot(STATE, count=2), "2 producers of 46 bytes, but 46 bytes"),
        (snapshot(STATE, count=-1), "-1 producers"),
    ],
)
def test_damaged_snapshot_is_named(data, said):
    with pytest.raises(ValueError, match=said):
        parse_producer_snapshot(data)


def test_offsets_of_partitions_are_read():
    data = b"0\n3\norders 0 40\norders 11 9223372036854775807\n__consumer_offsets 2 0\n"
    assert parse_offsets(data) == {
        ("orders", 0): 40,
        ("orders", 11): 2**63 - 1,
        ("__consumer_offsets", 2): 0,
    }
    assert parse_offsets(b"0\n0\n") == {}


@pytest.mark.parametrize(
    "data, said",
    [
        (b"", "empty"),
        (b"1\n0\n", "Unrecognized version"),
        (b"0\n", "found only 0"),
        (b"0\nx\n", "is no offset"),
        (b"0\n1\n", "Expected 1 entries in checkpoint file, but found only 0"),
        (b"0\n0\norders 0 1\n", "1 entries in checkpoint file, but it says 0"),
        (b"0\n1\norders 1\n", "Malformed line in checkpoint file: 'orders 1'"),
        (b"0\n1\norders 0 -1\n", "'-1' is no offset"),
        (b"0\n1\norders 0 9223372036854775808\n", "is no offset"),
        (b"0\n2\norders 0 1\norders 0 2\n", "twice"),
    ],
)
def test_damaged_checkpoint_is_named(data, said):
    with pytest.raises(ValueError, match=said):
        parse_offsets(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version: 1\ntopic_id: 4WTCM5k4QEaTjZ_CAFp1Jw",
        b"version: 0\n",
        b"version: 0\ntopic_id: short",
        b"version: 0\ntopic_id: 4WTCM5k4QEaTjZ_CAFp1Jw\nmore",
    ],
)
def test_damaged_partition_metadata_are_named(data):
    with pytest.raises(ValueError, match="line is not"):
        parse_partition_metadata(data)


def test_meta_properties_of_both_versions_are_read():
    old = b"#\n#Mon Jan 01 00:00:00 UTC 2024\nbroker.id=1\nversion=0\ncluster.id=abc\n"
    assert parse_meta_properties(old) == {"broker.id": "1", "version": "0", "cluster.id": "abc"}
    for data, said in (b"version=7\n", "neither 0 nor 1"), (b"nonsense\n", "no key and value"):
        with pytest.raises(ValueError, match=said):
            parse_meta_properties(data)


@given(st.binary(max_size=80) | st.text("0123 \n:=vers", max_size=40).map(str.encode))
def test_bytes_are_read_or_named_in_one_line(data):
    for parse in PARSERS:
        try:
            parse(data)
        except ValueError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017
