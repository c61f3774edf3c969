"""Fingerprints and offsets of many messages at once, against the plain ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.bulk.fingerprints import fingerprint_messages
from kminilog.bulk.renumbering import number_messages
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.storage.publish import fingerprints as plain
from kminilog.storage.publish import renumbering
from kminilog.storage.publish.fingerprints import RangeSums
from tests.bulk.strategies import both_dialects, log_of, messages
from tests.damage import message_positions

OFFSETS = st.integers(0, 40) | st.sampled_from([2**31, 2**62, 2**63 - 1, -1, -(2**63)])


@st.composite
def contents(draw: st.DrawFn, dialect) -> tuple[bytearray, list[int]]:
    """Messages, perhaps with wrong offsets, a wrong size or part of one behind; and hints."""
    content = bytearray(log_of(dialect, draw(messages(dialect))))
    positions = message_positions(bytes(content))
    hints = draw(st.lists(st.sampled_from(positions)) | st.lists(st.integers(0, len(content))))
    starts = st.sampled_from(positions)
    for start in draw(st.lists(starts, max_size=3)):
        content[start : start + 8] = draw(OFFSETS).to_bytes(8, signed=True)
        content = content[: max(positions)]
    if draw(st.integers(0, 3)) == 0:
        start = draw(starts)
        size = draw(st.sampled_from([-(2**31), -1, 0, 9, 10, 11, 2**31 - 1]))
        content[start + 8 : start + 12] = size.to_bytes(4, signed=True)
    end = draw(st.integers(0, len(content)) | st.just(len(content)))
    return content[:end], sorted(set(hints))


def outcome_of(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


@both_dialects
@given(data=st.data())
def test_fingerprints_of_many_are_those_of_each(dialect, data):
    content, hints = data.draw(contents(dialect))
    borders = data.draw(st.lists(OFFSETS, unique=True).map(sorted))
    plain_sums, sums = RangeSums(borders), RangeSums(borders)
    expected = outcome_of(plain.fingerprint_messages, bytes(content), plain_sums)
    assert outcome_of(fingerprint_messages, memoryview(content), sums, hints) == expected
    assert sums.rows() == plain_sums.rows()


@both_dialects
@given(data=st.data(), first_offset=st.sampled_from([0, 1, 255, 2**40]))
def test_offsets_of_many_are_those_of_each(dialect, data, first_offset):
    content, hints = data.draw(contents(dialect))
    plainly = bytearray(content)
    expected = outcome_of(renumbering.number_messages, plainly, first_offset)
    assert outcome_of(number_messages, memoryview(content), first_offset, hints) == expected
    assert content == plainly


@both_dialects
@pytest.mark.parametrize("step", [1, 3, 10**6])
def test_fingerprints_and_offsets_of_hundreds_of_mixed_lengths_are_the_plain_ones(dialect, step):
    pairs = [(b"k" * (n % 7), b"v" * (n % 11)) for n in range(700)]
    content = bytearray(log_of(dialect, pairs, 10))
    hints = message_positions(bytes(content))[1:-1:step]
    borders = [5, 100, 300, 709]
    plain_sums, sums = RangeSums(borders), RangeSums(borders)
    plain.fingerprint_messages(bytes(content), plain_sums)
    assert fingerprint_messages(bytes(content), sums, hints) == len(content)
    assert sums.rows() == plain_sums.rows()
    assert [count for _, count, _ in sums.rows()] == [90, 200, 409]
    assert number_messages(content, 2**33, hints) == (2**33 + 700, len(content))
    assert bytes(content) == log_of(dialect, pairs, 2**33)


def test_sums_are_kept_modulo_two_to_the_64():
    content = b"".join(encode(KAFKA, n, None, b"v%d" % n) for n in range(50))
    sums = RangeSums([0, 100])
    fingerprint_messages(content, sums)
    fingerprint_messages(content, sums)
    ((_, count, total),) = sums.rows()
    assert count == 100
    assert 0 <= total < 2**64
    assert isinstance(total, int)
    assert not isinstance(total, np.integer)
