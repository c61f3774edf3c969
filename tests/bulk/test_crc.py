import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.bulk import crc
from tests.bulk.strategies import LIBRARIES, crc_of, each_library

PIECES = st.lists(st.binary(max_size=40) | st.integers(0, 70_000).map(bytes), max_size=40)


def laid_out(pieces: list[bytes]) -> tuple[bytes, np.ndarray, np.ndarray]:
    """The pieces behind their 16 uncovered bytes, their crcs, and how many bytes stand behind."""
    data = b"".join(crc.fresh_start() + piece for piece in pieces)
    ends = np.cumsum([crc.UNCOVERED_BYTES + len(piece) for piece in pieces], dtype=np.int64)
    return data, np.array([zlib.crc32(piece) for piece in pieces], np.uint32), len(data) - ends


@each_library
@given(pieces=PIECES)
def test_crc_of_each_piece_is_zlibs(library, pieces):
    with crc_of(library):
        found = crc.crc32_of_each(b"".join(pieces), [len(piece) for piece in pieces])
    assert found.tolist() == [zlib.crc32(piece) for piece in pieces]


@each_library
@given(rows=st.integers(0, 9), length=st.integers(0, 30), gap=st.integers(0, 3), data=st.data())
def test_crc_of_each_row_is_zlibs(library, rows, length, gap, data):
    size = rows * (length + gap)
    content = data.draw(st.binary(min_size=size, max_size=size))
    table = np.frombuffer(content, np.uint8).reshape(rows, length + gap)[:, gap:]
    with crc_of(library):
        found = crc.crc32_of_rows(table)
    assert found.tolist() == [zlib.crc32(bytes(row)) for row in table]


@each_library
@given(pieces=PIECES)
def test_crcs_that_are_right_match(library, pieces):
    with crc_of(library):
        assert crc.crcs_match(*laid_out(pieces))


@each_library
@given(pieces=PIECES.filter(bool), data=st.data())
def test_crcs_with_one_wrong_do_not_match(library, pieces, data):
    content, crcs, behind = laid_out(pieces)
    wrong = data.draw(st.integers(0, len(crcs) - 1))
    crcs[wrong] ^= np.uint32(data.draw(st.integers(1, 2**32 - 1)))
    with crc_of(library):
        assert not crc.crcs_match(content, crcs, behind)


@each_library
@given(pieces=PIECES.filter(any), data=st.data())
def test_crcs_of_a_changed_byte_do_not_match(library, pieces, data):
    content, crcs, behind = laid_out(pieces)
    changed = data.draw(st.sampled_from([n for n, piece in enumerate(pieces) if piece]))
    end = len(content) - int(behind[changed])
    place = data.draw(st.integers(end - len(pieces[changed]), end - 1))
    damaged = bytearray(content)
    damaged[place] ^= data.draw(st.integers(1, 255))
    with crc_of(library):
        assert not crc.crcs_match(damaged, crcs, behind)


def test_crcs_behind_more_than_three_digits_of_distance_match():
    pieces = [b"first", bytes(2**24 + 300), b"last"]
    content, crcs, behind = laid_out(pieces)
    assert crc.crcs_match(content, crcs, behind)
    crcs[0] ^= np.uint32(1)
    assert not crc.crcs_match(content, crcs, behind)


def library_used(preparation: str) -> str:
    show = "import kminilog.bulk.crc as c; print(c.crc32.__module__)"
    command = [sys.executable, "-c", f"import sys; {preparation}; {show}"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def test_crc_without_isal_is_zlibs():
    assert library_used("sys.modules['isal'] = None") == "zlib"


@pytest.mark.skipif("isal" not in LIBRARIES, reason="isal is not installed")
def test_crc_with_isal_is_isals():
    assert library_used("pass") == "isal.isal_zlib"
