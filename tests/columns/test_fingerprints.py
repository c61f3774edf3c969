"""Fingerprints and offsets of many messages at once, against those of each."""

import struct
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns.boundaries import find_beginnings
from kminilog.columns.fingerprints import fingerprint_messages
from kminilog.columns.unnumbered import put_numbers
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.storage.publish.fingerprints import RangeSums
from tests.support.columns.strategies import both_dialects, log_of, messages
from tests.support.damage import message_positions

OFFSETS = st.integers(0, 40) | st.sampled_from([2**31, 2**62, 2**63 - 1, -1, -(2**63)])


@st.composite
def contents(draw: st.DrawFn, dialect) -> bytearray:
    """Messages, perhaps with wrong offsets, a wrong size or part of one after."""
    content = bytearray(log_of(dialect, draw(messages(dialect))))
    positions = message_positions(bytes(content))
    starts = st.sampled_from(positions)
    for start in draw(st.lists(starts, max_size=3)):
        content[start : start + 8] = draw(OFFSETS).to_bytes(8, signed=True)
        content = content[: max(positions)]
    if draw(st.integers(0, 3)) == 0:
        start = draw(starts)
        size = draw(st.sampled_from([-(2**31), -1, 0, 9, 10, 11, 2**31 - 1]))
        content[start + 8 : start + 12] = size.to_bytes(4, signed=True)
    end = draw(st.integers(0, len(content)) | st.just(len(content)))
    return content[:end]


def plain_rows(dialect, content: bytes, borders: list[int]) -> list[list[int]]:
    """The sums of the messages up to the first whose size field is wrong, one by one."""
    sums = RangeSums(borders)
    for start, end in pairwise(find_beginnings(dialect, content).tolist()):
        offset, size, crc = struct.unpack_from(">qiI", content, start)
        assert start + 12 + size == end
        sums.add(offset, size, crc)
    return sums.rows()


@both_dialects
@given(data=st.data())
def test_fingerprints_of_many_are_those_of_each(dialect, data):
    content = data.draw(contents(dialect))
    borders = data.draw(st.lists(OFFSETS, unique=True).map(sorted))
    sums = RangeSums(borders)
    fingerprint_messages(bytes(content), find_beginnings(dialect, content), sums)
    assert sums.rows() == plain_rows(dialect, bytes(content), borders)


@both_dialects
@given(data=st.data(), first_offset=st.sampled_from([0, 1, 255, 2**40]))
def test_offsets_put_into_many_are_those_of_each(dialect, data, first_offset):
    rows = data.draw(messages(dialect))
    content = bytearray(log_of(dialect, rows))
    positions = find_beginnings(dialect, content)[:-1]
    put_numbers(content, positions, np.arange(first_offset, first_offset + len(rows)))
    assert content == log_of(dialect, rows, first_offset)


def test_sums_are_kept_modulo_two_to_the_64():
    content = b"".join(encode(KAFKA, n, None, b"v%d" % n) for n in range(50))
    sums = RangeSums([0, 100])
    for _ in range(2):
        fingerprint_messages(content, find_beginnings(KAFKA, content), sums)
    ((_, count, total),) = sums.rows()
    assert count == 100
    assert 0 <= total < 2**64
    assert isinstance(total, int)
    assert not isinstance(total, np.integer)
