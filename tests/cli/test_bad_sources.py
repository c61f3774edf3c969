"""Sources that cannot be read, for `ingest` and for `verify`: one line, exit code 2, no change."""

import gzip
import lzma
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.format.dialect import DOCUMENTED, KAFKA
from tests.cli.test_ingest import without_progress
from tests.jobs.source.test_topic_columns import write_topic
from tests.support.cli.command_line import Run, assert_refused
from tests.support.damage import flip_byte, zero_range

pytestmark = pytest.mark.usefixtures("spark")
Case = Callable[[Path], list[str | Path]]


def loop(directory: Path) -> list[str | Path]:
    """A file that even root cannot open."""
    os.symlink(directory / "loop", directory / "loop")
    return [directory / "loop"]


def torn_gzip(directory: Path) -> list[str | Path]:
    path = directory / "torn.gz"
    path.write_bytes(gzip.compress(os.urandom(5000))[:-200])
    return [path]


def torn_zstd(directory: Path) -> list[str | Path]:
    """It is cut off after what is read before Spark starts."""
    path, sink = directory / "torn.log.ZST", pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(os.urandom(500_000).hex().encode())
    path.write_bytes(bytes(sink.getvalue())[:-200])
    return [path]


def xz(directory: Path) -> list[str | Path]:
    (directory / "a.json").write_bytes(b'{"a": 1}\n')
    (directory / "b.json").write_bytes(lzma.compress(b'{"a": 1}\n'))
    return [directory, "--format", "json"]


def parquet_as_text(directory: Path) -> list[str | Path]:
    return [parquet(directory)]


def parquet(directory: Path) -> Path:
    path = directory / "t.parquet"
    table = pa.table({"a": [os.urandom(20) for _ in range(2000)]})
    pq.write_table(table, path, compression="none", use_dictionary=False)
    return path


def parquet_without_end(directory: Path) -> list[str | Path]:
    path = parquet(directory)
    os.truncate(path, path.stat().st_size - 10)
    return [path, "--format", "parquet"]


def parquet_with_bad_pages(directory: Path) -> list[str | Path]:
    path = parquet(directory)
    zero_range(path, 4, 2000)
    return [path, "--format", "parquet", "--key", "a"]


def parquet_without_the_column(directory: Path) -> list[str | Path]:
    return [parquet(directory), "--format", "parquet", "--key", "id"]


def open_quote(directory: Path) -> list[str | Path]:
    (directory / "q.csv").write_bytes(b'a,b\n1,"2\n')
    return [directory / "q.csv", "--format", "csv"]


def header_only(directory: Path) -> list[str | Path]:
    (directory / "h.csv").write_bytes(b"a,b\n")
    return [directory / "h.csv", "--format", "csv", "--key", "a"]


def topic_that_is_not_there(directory: Path) -> list[str | Path]:
    write_topic(directory / "other", DOCUMENTED)
    return [f"{directory}/other:views", "--format", "kminilog"]


def damaged_topic(directory: Path) -> list[str | Path]:
    (argument,) = write_topic(directory / "other", KAFKA).paths
    flip_byte(sorted((directory / "other" / "orders-1").glob("*.log"))[2], 30, mask=1)
    return [argument, "--format", "kminilog"]


def key_of_a_message(directory: Path) -> list[str | Path]:
    (directory / "k").write_bytes(b'{"key": null, "payload": "x"}\n')
    return [directory / "k", "--format", "kcat", "--key", "key"]


CASES: dict[str, tuple[Case, str]] = {
    "unreadable": (loop, "loop: "),
    "torn-gzip": (torn_gzip, "torn.gz: its gzip data are cut off"),
    "torn-zstd": (torn_zstd, "torn.log.ZST: its zstd data are cut off"),
    "xz": (xz, "b.json: it is xz, which is not read"),
    "parquet-as-text": (parquet_as_text, "t.parquet: it is Parquet, not text: give --format"),
    "parquet-without-end": (parquet_without_end, "t.parquet"),
    "parquet-bad-pages": (parquet_with_bad_pages, "t.parquet"),
    "no-column": (parquet_without_the_column, "no column 'id'; there is: a"),
    "open-quote": (open_quote, "q.csv: line 2: unexpected end of data"),
    "no-topic": (topic_that_is_not_there, "other has no topic views; there is: orders"),
    "damaged-topic": (damaged_topic, ".log: byte 0: bad-crc"),
    "key-of-message": (key_of_a_message, "messages of kcat have their own key and value"),
    "header-only": (header_only, "h.csv: it holds no records"),
}


@pytest.mark.parametrize("words", ["ingest --topic t", "verify t --against"])
def test_source_that_cannot_be_read_is_one_line_and_changes_nothing(kminilog, tmp_path, words):
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    kminilog.ok("produce", "t", stdin=b"first\n")
    rows = []
    for name, (case, part) in CASES.items():
        (tmp_path / name).mkdir()
        rows.append((shlex.join(map(str, case(tmp_path / name))), part))

    def command(*typed: str) -> Run:
        return without_progress(kminilog(*typed))

    staging = (".job-staging", ".staging")  # empty ones may stay
    assert_refused(command, tmp_path, rows, *words.split(), without=staging)
