"""Something else than a file in the place of a segment: commands name it and do not wait."""

import os
import signal
from pathlib import Path
from threading import Thread

import pytest

from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir import LogDir
from tests.cli.command_line import CommandLine, assert_one_line

WAIT = ("--config", "consumer.timeout.ms=1")


def put_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def put_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def put_dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nothing")


@pytest.mark.parametrize("put", [put_fifo, put_directory, put_dangling_link])
@pytest.mark.parametrize("suffix", [".log", ".index"])
@pytest.mark.timeout(60)
def test_commands_with_something_else_in_place_of_a_segment_name_it(orders, put, suffix):
    segments = LogDir(orders.log_dir).reader(TopicPartition("orders", 0)).segments()
    assert len(segments) > 3
    segment = segments[1]
    path = segment.log_path.with_suffix(suffix)
    put(path)
    commands: list[tuple[str, ...]] = [
        ("ls",),
        ("topic", "describe", "orders"),
        ("find", "orders-0", str(segment.first_offset)),
        ("consume", "orders", *WAIT),
        ("verify",),
        ("recover", "orders-0", "--dry-run"),
        ("recover", "orders-0"),
        ("dump", str(path)),
        ("dump", str(path), "--format", "kafka"),
    ]
    is_link = put is put_dangling_link
    for command in commands:
        if is_link and (suffix == ".index" or command[0] == "dump"):
            continue  # no index, so it is made anew; and no file to dump
        run = orders(*command)
        if suffix == ".index" and command[0] == "consume":
            assert run.code == 0  # which reads from the beginning, and so needs no index
            continue
        assert run.code == 2, (command, run)
        assert path.name in run.err + run.out, (command, run)
        assert run.err.count("\n") <= 1, (command, run)
    assert not (path.parent / "nothing").exists()


@pytest.mark.timeout(60)
def test_partition_with_a_fifo_is_closed_after_a_crash_and_the_others_are_open(orders):
    orders.ok("topic", "create", "other", "--partitions", 1)
    segment = LogDir(orders.log_dir).reader(TopicPartition("orders", 0)).segments()[-1]
    put_fifo(segment.log_path)
    (orders.log_dir / ".clean-shutdown").unlink()
    assert orders("produce", "other", stdin=b"line\n").code == 0
    run = orders("produce", "orders", stdin=b"line\n")
    assert run.code == 2
    assert f"{segment.log_path}" in run.err
    assert "a FIFO, not a regular file" in run.err


@pytest.mark.timeout(60)
def test_fifo_named_like_a_topic_is_named(kminilog: CommandLine):
    kminilog.ok("topic", "create", "orders", "--partitions", 1)
    os.mkfifo(kminilog.log_dir / "mine.json")
    for command in (("topic", "list"), ("ls",), ("verify",), ("topic", "describe", "mine")):
        run = kminilog(*command)
        assert run.code == 2
        told = run.out if command == ("verify",) else run.err
        assert "mine.json: a FIFO, not a regular file; move it away" in told


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "words",
    [
        ["verify", "--report"],
        ["ls", "--html"],
        ["assign", "--topic", "t=3", "--member", "a", "--previous"],
        ["demo", "--input"],
    ],
    ids=lambda words: words[0],
)
def test_fifo_in_place_of_a_file_is_refused_before_the_work(orders, tmp_path, words):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    assert_one_line(orders(*words, fifo), 2, f"{fifo} is a FIFO; name a regular file")


@pytest.mark.timeout(60)
def test_produce_reads_a_fifo(orders, tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = Thread(target=fifo.write_bytes, args=[b"one\ntwo\n"], daemon=True)
    writer.start()
    assert "2 messages" in orders.ok("produce", "orders", fifo).out


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_produce_while_it_waits_for_the_writer_of_a_fifo(
    orders, monkeypatch, number, code
):
    def opens(*_: object, **__: object) -> None:
        signal.raise_signal(number)
        pytest.fail("it went on")

    monkeypatch.setattr("click.types.open_stream", opens)
    run = orders("produce", "orders", __file__)
    assert (run.code, run.out, run.err) == (code, "", "")
