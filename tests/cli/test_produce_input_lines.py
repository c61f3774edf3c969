"""Lines of an input, and the pauses between them."""

import io
import os
from collections.abc import Iterator
from select import select
from threading import Timer
from typing import BinaryIO

import pytest

from kminilog.cli.produce import input_lines
from kminilog.cli.produce.input_lines import InputLines


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """A pipe: the end to read, and the end to write, without a buffer."""
    reading, writing = os.pipe()
    with open(reading, "rb") as ours, open(writing, "wb", buffering=0) as theirs:
        yield ours, theirs


def test_pause_is_when_no_whole_line_is_there(pipe):
    ours, theirs = pipe
    lines = InputLines(ours, 100)
    assert lines.is_pausing()
    theirs.write(b"one\ntwo\n")
    assert next(lines) == b"one"
    assert not lines.is_pausing()
    assert next(lines) == b"two"
    theirs.write(b"thr")
    assert lines.is_pausing()
    assert lines.is_pausing()
    theirs.write(b"ee\n")
    assert not lines.is_pausing()
    assert next(lines) == b"three"
    theirs.write(b"four")
    assert lines.is_pausing()
    theirs.close()
    assert not lines.is_pausing(), "the end of the input is no pause"
    assert list(lines) == [b"four"]
    assert not lines.is_pausing()
    assert list(lines) == []


def test_writer_that_never_rests_makes_a_pause_after_a_while(pipe, monkeypatch):
    assert 0 < input_lines.PAUSE_SECONDS < input_lines.LONGEST_SECONDS < 1
    ours, theirs = pipe
    lines = InputLines(ours, 100)
    theirs.write(b"one\n")
    assert next(lines) == b"one"

    def writer_writes_if_it_gets_time(reading, writing, failing, seconds=0):
        if seconds:
            theirs.write(b"next\n")
        return select(reading, writing, failing, 0)

    monkeypatch.setattr(input_lines, "select", writer_writes_if_it_gets_time)
    monkeypatch.setattr(input_lines, "LONGEST_SECONDS", 10**6)
    assert not lines.is_pausing(), "the first line has just come"
    assert next(lines) == b"next"
    monkeypatch.setattr(input_lines, "LONGEST_SECONDS", 0)
    assert lines.is_pausing()


def test_pipe_that_another_program_has_made_not_block_is_waited_for_all_the_same(pipe):
    ours, theirs = pipe
    os.set_blocking(ours.fileno(), False)
    writer = Timer(0.2, theirs.write, [b"one\n"])
    writer.start()
    assert next(InputLines(ours, 100)) == b"one"
    writer.join()


def test_waiting_is_announced_only_when_nothing_is_there(pipe):
    ours, theirs = pipe
    waits: list[str] = []
    lines = InputLines(ours, 100, before_waiting=lambda: waits.append("> "))
    theirs.write(b"one\ntwo\n")
    assert [next(lines), next(lines)] == [b"one", b"two"]
    assert len(waits) == 1


@pytest.mark.parametrize("size", [1, 7, 65_536, 65_537, 200_000])
def test_lines_of_a_file_are_those_of_python_whatever_their_length(tmp_path, size):
    data = b"".join(bytes([65 + n % 26]) * (n * size // 7) + b"\n" for n in range(9)) + b"end"
    path = tmp_path / "lines"
    path.write_bytes(data)
    with open(path, "rb") as file:
        lines = InputLines(file, 10**6)
        found = []
        for line in lines:
            assert not lines.is_pausing()
            found.append(line)
    assert found == data.split(b"\n")
    assert list(InputLines(io.BytesIO(data), 10**6)) == found


@pytest.mark.parametrize("others", [b"", b"\nnext\n", b"x" * 200_000 + b"\nnext\n"])
def test_line_that_is_too_long_is_cut_after_one_byte_more(tmp_path, others):
    path = tmp_path / "lines"
    path.write_bytes(b"fits\n12345\n123456" + others)
    with open(path, "rb") as file:
        found = [line for line, _ in zip(InputLines(file, 5), range(3), strict=False)]
    assert found == [b"fits", b"12345", b"123456"]


def test_line_that_is_too_long_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "lines"
    path.touch()
    os.truncate(path, 1 << 30)
    with open(path, "rb") as file:
        assert list(InputLines(file, 100_000)) == [bytes(100_001)]
        assert file.raw.tell() < 300_000
