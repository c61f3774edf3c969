"""`kminilog demo`: the main job on one screen.

    access log --Spark ingest--> topic `access`, keyed by client address --Spark verify--> verdict
                                                                         --find------> one message

The access log is generated or given. All files are in a temporary directory, or in one that is
kept. The exit code is that of the verification.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from kminilog.cli.find import found_json
from kminilog.cli.ingest import ingest_lines
from kminilog.cli.shared.engines import master_option, spark_at_work
from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.named_files import DirectoryName, InputFile
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import chapters, show, width
from kminilog.cli.shared.topic_files import describe_topic, offset_range
from kminilog.explain.documents_log import OFFSET, write_documents_log
from kminilog.explain.find_offset import Search, of_search
from kminilog.explain.text import render_text
from kminilog.format.index_entry import decode_entries
from kminilog.settings import TopicSettings
from kminilog.storage.files import naming
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.retention import expired_segments
from kminilog.storage.segment.search import Found
from kminilog.text import count, table

if TYPE_CHECKING:
    from kminilog.verification.report import Report

TOPIC = "access"
PARTITIONS = 3
CLIENT_ADDRESS = r"^(\S+)"
_ROWS = 10_000
_SEGMENTS = 12  # about so many in all, so that the search has several names to choose from
_SMALLEST_SEGMENT_BYTES = 1 << 16
# Of the documents' log: its entries 3,497 and 6,1407 and 8,1686; and less than two of its segments.
_SHOWN_ENTRIES = 3
_RETENTION_BYTES = 14_000_000


@click.command("demo", epilog=example("kminilog demo --rows 2000"))
@click.option(
    "--input",
    "input_file",
    type=InputFile(),
    metavar="FILE",
    help="Access log to ingest, plain or compressed.  [default: a generated one]",
)
@click.option(
    "--rows",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"Number of lines of the generated log.  [default: {_ROWS}]",
)
@click.option("--seed", type=int, help="Seed for the generated log.  [default: 0]")
@click.option(
    "--keep",
    type=DirectoryName(),
    metavar="DIR",
    help="Empty or new directory for all files.  [default: a temporary one, removed at the end]",
)
@click.option(
    "--documents",
    "is_of_documents",
    is_flag=True,
    help="Write the log of the documents' example instead, without Spark; find offset 368776.",
)
@master_option
@json_option
def command(
    input_file: Path | None,
    rows: int | None,
    seed: int | None,
    keep: Path | None,
    is_of_documents: bool,
    master: str | None,
    as_json: bool,
) -> int:
    """Ingest an access log with Spark, verify it, find a message.

    Spark verifies the topic against the access log. The search for the message is shown step by
    step.
    """
    if is_of_documents and (input_file or master):
        raise click.UsageError("--documents makes its own log: without --input, without Spark")
    if is_of_documents and (rows, seed) != (None, None):
        raise click.UsageError("--documents has a log of its own size: drop --rows and --seed")
    with _workspace(keep) as workspace:
        log_dir_path = workspace / "kminilog-data"
        place = {"log_dir": str(log_dir_path), "kept": keep is not None}
        if is_of_documents:
            partition = write_documents_log(log_dir_path)
            search = Search(LogDir(log_dir_path).reader(partition), OFFSET)
            found = search.run()
            document = {"find": found_json(search, found), **place}
            show(
                document,
                as_json,
                lambda document: chapters(
                    render_text(of_search(search), width=width()),
                    _index_and_retention(search, found),
                    _files(document),
                ),
            )
            return 0
        source = _source(workspace, input_file, rows or _ROWS, seed or 0)
        ingested, report = _ingest_and_verify(log_dir_path, source, master)
        log_dir = LogDir(log_dir_path)
        search = _search_in_the_middle(log_dir)
        found = search.run()
        document = {
            "source": {
                "path": str(source),
                "bytes": source.stat().st_size,
                "generated": input_file is None,
            },
            "ingest": ingested,
            "topic": describe_topic(log_dir, log_dir.topic(TOPIC)),
            "verify": report.to_json(),
            "find": found_json(search, found),
            **place,
        }
        show(document, as_json, lambda document: _told(document, report, search))
    return report.exit_code


@contextmanager
def _workspace(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="kminilog-demo-") as directory:
            yield Path(directory)
        return
    if keep.exists() and not keep.is_dir():
        raise click.UsageError(f"--keep {keep}: it is a file; name an empty or new directory")
    if keep.exists() and any(keep.iterdir()):
        raise click.UsageError(f"--keep {keep}: there are files in it; name an empty or new one")
    keep.mkdir(parents=True, exist_ok=True)
    yield keep


def _source(workspace: Path, input_file: Path | None, rows: int, seed: int) -> Path:
    """Return the access log as a plain file; a given one that is plain stays where it is."""
    path = workspace / "access.log"
    if not input_file:
        with naming(path), open(path, "wb") as target:
            target.writelines(interruptible(access_log(rows, seed)))
        return path
    from kminilog.jobs.source.compression import compression_of, open_decompressed

    if not compression_of(str(input_file)):
        return input_file.absolute()
    with naming(path), open(path, "wb") as target, open_decompressed(str(input_file)) as packed:
        shutil.copyfileobj(packed, target)
    return path


def _ingest_and_verify(
    log_dir_path: Path, path: Path, master: str | None
) -> tuple[dict[str, Any], "Report"]:
    segment_bytes = max(path.stat().st_size // _SEGMENTS, _SMALLEST_SEGMENT_BYTES)
    with spark_at_work("Demo", master) as (start, at):
        spark = start()  # says so, before what loads pyspark
        from kminilog.jobs.source.description import Source
        from kminilog.jobs.spark.ingest.job import ingest
        from kminilog.verification.account.spark import verify

        source = Source(paths=(str(path),), key_regex=CLIENT_ADDRESS)
        settings = TopicSettings(segment_bytes=segment_bytes)
        result = ingest(
            spark,
            log_dir_path,
            source,
            topic=TOPIC,
            partitions=PARTITIONS,
            settings=settings,
            progress=at,
        )
        at("verifying against the source")
        report = verify(spark, LogDir(log_dir_path), [TOPIC], against=source)
    return result.to_json(), report


def _search_in_the_middle(log_dir: LogDir) -> Search:
    """Return the search for the message in the middle of the longest partition."""
    readers = [log_dir.reader(found) for found in log_dir.topic(TOPIC).all_partitions()]
    reader = max(readers, key=lambda candidate: candidate.log_end_offset)
    return Search(reader, reader.log_end_offset // 2)


def _told(document: dict[str, Any], report: "Report", search: Search) -> Iterator[str]:
    source = document["source"]
    made_up = ", made up" if source["generated"] else ""
    find = f"find {search.reader.topic_partition} {search.offset} --explain"
    return chapters(
        [
            f"== Source: {source['path']}, {count(source['bytes'], 'byte')}{made_up}",
            "   Each line becomes a message; its key is the client address at its beginning.",
        ],
        ["== Spark ingest", *ingest_lines(document["ingest"])],
        [f"== Partitions of topic {TOPIC}", *_partition_table(document["topic"]["partitions"])],
        ["== Spark verification against the source", *report.to_lines(width())],
        [
            f"== One message, found: kminilog {find}",
            *render_text(of_search(search), width=width()),
        ],
        _files(document),
    )


def _index_and_retention(search: Search, found: Found) -> Iterator[str]:
    """Yield how the index of the segment begins, and what retention would delete of the log."""
    index = found.segment.index.path
    first = decode_entries(index.read_bytes())[:_SHOWN_ENTRIES]
    shown = ", ".join(f"{entry.relative_offset},{entry.position}" for entry in first)
    yield f"== Index: {index.name} begins with the entries {shown}"
    settings = TopicSettings(retention_ms=-1, retention_bytes=_RETENTION_BYTES)
    expired = expired_segments(search.reader.segments(), settings, now_ms=0)
    yield f"== Retention: with retention.bytes = {_RETENTION_BYTES}, `kminilog retain` would delete"
    yield f"   {', '.join(segment.name for segment in expired)}, and no newer segment"


def _files(document: dict[str, Any]) -> Iterator[str]:
    yield f"== Files: {document['log_dir']}"
    if document["kept"]:
        yield f"   go on with: kminilog --log-dir {document['log_dir']} ls"
    else:
        yield "   removed now; `kminilog demo --keep DIR` keeps them"


def _partition_table(partitions: list[dict[str, Any]]) -> list[str]:
    rows = [
        (
            f"{TOPIC}-{partition['partition']}",
            offset_range(partition["log_start_offset"], partition["log_end_offset"]),
            partition["size_bytes"],
            len(partition["segments"]),
            sum(segment["index_entries"] for segment in partition["segments"]),
        )
        for partition in partitions
    ]
    return table(("partition", "offsets", "bytes", "segments", "index entries"), rows, width())


# ---- the generated access log


_BEGINNING = datetime(2015, 5, 17, 10, 5, 3, tzinfo=UTC)
_NETWORKS = ("192.0.2", "198.51.100", "203.0.113")
_PATHS = (
    "/",
    "/robots.txt",
    "/favicon.ico",
    "/blog/what-is-a-log",
    "/blog/offsets-and-positions",
    "/images/segment.png",
    "/style.css",
    "/search?q=partition+%D0%BA%D0%BB%D1%8E%D1%87",
)
_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:38.0) Gecko/20100101 Firefox/38.0",
    "Mozilla/5.0 (compatible; ExampleBot/1.0; +http://example.org/bot.html)",
    "curl/7.42.1",
)


def access_log(rows: int, seed: int = 0) -> Iterator[bytes]:
    """Yield so many lines in the format of web servers, each with its newline; O(rows).

    The same seed gives the same lines. Addresses are skewed as they are in real logs: the n-th most
    frequent has a weight of 1/n, so a few clients make most of the lines and many appear once. All
    addresses are reserved for documentation (RFC 5737, 3849).

    >>> lines = list(access_log(3, seed=1))
    >>> len(lines), lines == list(access_log(3, seed=1)), lines == list(access_log(3, seed=2))
    (3, True, False)
    """
    chance = Random(seed)
    clients = _clients(max(rows // 6, 1), chance)
    weights = list(accumulate(1 / rank for rank in range(1, len(clients) + 1)))
    at = _BEGINNING
    for client in chance.choices(clients, cum_weights=weights, k=rows):
        at += timedelta(seconds=chance.randrange(3))
        path, agent = chance.choice(_PATHS), chance.choice(_AGENTS)
        status = chance.choices((200, 304, 404, 500), weights=(90, 5, 4, 1))[0]
        size = chance.randrange(100, 60_000) if status == 200 else 0
        line = (
            f'{client} - - [{at:%d/%b/%Y:%H:%M:%S %z}] "GET {path} HTTP/1.1" '
            f'{status} {size} "-" "{agent}"\n'
        )
        yield line.encode()


def _clients(number: int, chance: Random) -> list[str]:
    """Return different addresses in random order, IPv6 ones when there are no more of IPv4."""
    short = [f"{network}.{host}" for network in _NETWORKS for host in range(1, 255)]
    long = [f"2001:db8::{host:x}" for host in range(1, max(number - len(short), 0) + 1)]
    chance.shuffle(short)
    return (short + long)[:number]
