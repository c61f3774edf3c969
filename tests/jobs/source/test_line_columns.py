"""Lines as Arrow columns: the same lines, places and keys as those that are read one by one."""

import gzip
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.errors import SourceError
from kminilog.jobs.source import formats, line_columns, pieces
from kminilog.jobs.source.line_columns import read_lines, search
from kminilog.jobs.source.source_files import list_files
from kminilog.jobs.source.tasks import LocalTasks
from tests.support.jobs.source.plain import read_text

contents = st.lists(st.sampled_from([b"", b"\n", b"a", b"bb\n", b"\r\n", b"\xff\x00", b"c" * 9]))
splits = st.tuples(st.integers(0, 60), st.integers(0, 60))


def one_by_one(path, start, end):
    found = read_text(str(path), start, end)
    return list(zip(found.positions, found.rows, found.lines, strict=True))


def as_columns(path, start, end):
    return [
        (position, row, line)
        for first, positions, lines in read_lines(str(path), start, end)
        for row, (position, line) in enumerate(
            zip(positions.tolist(), lines.to_pylist(), strict=True), start=first
        )
    ]


@given(contents, splits, st.sampled_from([1, 2, 5, 1 << 20]))
def test_lines_are_those_that_are_read_one_by_one(tmp_path_factory, parts, split, block_bytes):
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_bytes(b"".join(parts))
    start, end = min(split), max(split)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_columns, "BLOCK_BYTES", block_bytes)
        start, end = (min(at, path.stat().st_size) for at in (start, end))
        for each in ((start, end), (0, start), (end, sys.maxsize), (0, sys.maxsize)):
            assert as_columns(path, *each) == one_by_one(path, *each)


def test_pieces_of_a_file_have_each_line_once(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes(b"".join(b"line %d\n" % (7**number) for number in range(40)) + b"the last")
    every = [(position, line) for position, _, line in one_by_one(path, 0, sys.maxsize)]
    for step in (1, 3, 10, 64, 1000):
        size = path.stat().st_size
        borders = [(start, min(start + step, size)) for start in range(0, size, step)]
        parts = [as_columns(path, *border) for border in borders]
        assert [(position, line) for part in parts for position, _, line in part] == every


def test_compressed_lines_are_read_in_blocks(tmp_path, monkeypatch):
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n\nfour"))
    monkeypatch.setattr(line_columns, "BLOCK_BYTES", 3)
    assert as_columns(path, 0, sys.maxsize) == one_by_one(path, 0, sys.maxsize)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(SourceError, match="are cut off after"):
        list(read_lines(str(path)))


@pytest.mark.parametrize("last", [b"", b"\n"])
@pytest.mark.parametrize("begin", [0, 4, 30])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_line_that_is_too_long_is_an_error_with_its_place(
    tmp_path, monkeypatch, last, begin, compress
):
    path = tmp_path / "lines"
    path.write_bytes(compress(b"one\n" + b"x" * 100 + last))
    monkeypatch.setattr(formats, "LONGEST_BYTES", 40)
    monkeypatch.setattr(line_columns, "BLOCK_BYTES", 16)
    with pytest.raises(SourceError, match=r"lines: the line around byte \d+ is longer than 40"):
        list(read_lines(str(path), begin if compress is bytes else 0))


@pytest.mark.parametrize("start", [0, 3])
def test_file_that_ends_before_its_listed_size_is_an_error(tmp_path, start):
    path = tmp_path / "lines"
    path.write_bytes(b"one\ntwo\n")
    with pytest.raises(SourceError, match=r"lines: it was changed while it was read"):
        list(read_lines(str(path), start, 12))
    assert as_columns(path, start, 8)


@pytest.mark.parametrize("regex", [r"^(\S+)", r"\d+", r"(x)?b", r"a$", r"(?=b)", "é", "\udcff"])
def test_search_is_that_of_re(tmp_path, regex):
    path = tmp_path / "lines.txt"
    path.write_bytes("ab 12\nxb\n\né 7\nba\n".encode() + b"\xff\n")
    pattern = re.compile(regex.encode("utf-8", "surrogateescape"))
    ((_, _, lines),) = read_lines(str(path))
    expected = [pattern.search(line) for line in path.read_bytes().split(b"\n")[:-1]]
    group = 1 if pattern.groups else 0
    assert search(regex, lines).to_pylist() == [found and found[group] for found in expected]


@given(contents.filter(lambda parts: any(parts)), st.integers(1, 7))
def test_lines_in_front_of_pieces_are_those_that_begin_there(tmp_path_factory, parts, split):
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    path.write_bytes(b"".join(parts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "SPLIT_BYTES", split)
        found = pieces.pieces_of(list_files([str(path)]), "text")
    in_front = pieces.lines_in_front(found, LocalTasks())
    begun = 0
    for piece in found:
        assert in_front[piece.rank, piece.start] == begun
        begun += len(as_columns(path, piece.start, piece.end))
