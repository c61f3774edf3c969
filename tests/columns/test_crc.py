import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns import crc
from tests.support.columns.strategies import LIBRARIES, crc_of, each_library

PIECES = st.lists(st.binary(max_size=40) | st.integers(0, 70_000).map(bytes), max_size=40)


def laid_out(pieces: list[bytes]) -> tuple[bytes, np.ndarray]:
    """The pieces, in front of each what `crcs_match` wants there, and their crcs."""
    crcs = np.array([zlib.crc32(piece) for piece in pieces], np.uint32)
    return put_in_front(pieces, crcs), crcs


def put_in_front(pieces: list[bytes], crcs: np.ndarray) -> bytes:
    fronts = [front.tobytes() for front in crc.replacements_for_first_bytes(crcs)]
    assert {len(front) for front in fronts} == {crc.UNCOVERED_BYTES}
    return b"".join(front + piece for front, piece in zip(fronts, pieces, strict=True))


@each_library
@given(pieces=PIECES)
def test_crc_of_each_piece_is_zlibs(library, pieces):
    with crc_of(library):
        found = crc.crc32_of_each(b"".join(pieces), [len(piece) for piece in pieces])
    assert found.tolist() == [zlib.crc32(piece) for piece in pieces]


@given(piece=st.binary(max_size=40))
def test_neutral_bytes_do_not_count(piece):
    assert zlib.crc32(crc.NEUTRAL_BYTES + piece) == zlib.crc32(piece)


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
@given(pieces=PIECES.filter(bool))
def test_crcs_that_are_right_match(library, pieces):
    with crc_of(library):
        assert crc.crcs_match(*laid_out(pieces))


@each_library
@given(pieces=PIECES.filter(bool), data=st.data())
def test_crcs_with_one_wrong_do_not_match(library, pieces, data):
    _, crcs = laid_out(pieces)
    wrong = data.draw(st.integers(0, len(crcs) - 1))
    crcs[wrong] ^= np.uint32(data.draw(st.integers(1, 2**32 - 1)))
    with crc_of(library):
        assert not crc.crcs_match(put_in_front(pieces, crcs), crcs)


@each_library
@given(pieces=PIECES.filter(any), data=st.data())
def test_crcs_of_a_changed_byte_do_not_match(library, pieces, data):
    _, crcs = laid_out(pieces)
    changed = data.draw(st.sampled_from([n for n, piece in enumerate(pieces) if piece]))
    piece = bytearray(pieces[changed])
    piece[data.draw(st.integers(0, len(piece) - 1))] ^= data.draw(st.integers(1, 255))
    damaged = [*pieces[:changed], bytes(piece), *pieces[changed + 1 :]]
    with crc_of(library):
        assert not crc.crcs_match(put_in_front(damaged, crcs), crcs)


@each_library
def test_crcs_of_two_that_have_changed_places_do_not_match(library):
    pieces = [b"first", bytes(300), b"last"]
    _, crcs = laid_out(pieces)
    with crc_of(library):
        assert not crc.crcs_match(put_in_front(pieces, crcs[[1, 0, 2]]), crcs[[1, 0, 2]])


def library_used(preparation: str) -> str:
    show = "import kminilog.columns.crc as c; print(c.crc32.__module__)"
    command = [sys.executable, "-c", f"import sys; {preparation}; {show}"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


@pytest.mark.processes
def test_crc_without_isal_is_zlibs():
    assert library_used("sys.modules['isal'] = None") == "zlib"


@pytest.mark.processes
@pytest.mark.skipif("isal" not in LIBRARIES, reason="isal is not installed")
def test_crc_with_isal_is_isals():
    assert library_used("pass") == "isal.isal_zlib"
