"""`kminilog produce`: a message per line, from a file or from stdin, into a topic.

Lines end at newlines only, and their bytes stay as they are. Input is taken in batches of
batch.size bytes; a batch goes to the logs partition by partition, and nothing of it if a message in
it cannot be stored. A message with a key goes where the partitioner says; those without go, the
whole batch together, to one partition drawn at random, as the sticky partitioner does it. Brokers,
accumulator and retries are still to come; here is one process that writes files. Source: S1 3;
Kafka: ConsoleProducer.
"""

import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import click

from kminilog.cli.options import config_option, json_option, partitioner_option
from kminilog.cli.output import count, flush, warn_all, write_line, write_record
from kminilog.errors import MessageTooLargeError, NullValueError
from kminilog.format.message import encoded_bytes
from kminilog.format.names import TopicPartition
from kminilog.producer.partitioners.keyed import keyed_rule
from kminilog.settings import SETTINGS, parse_config
from kminilog.storage.log_dir import LogDir, LogDirWriter
from kminilog.storage.topics import Topic

KeyOf = Callable[[bytes], tuple[bytes | None, bytes]]


class Record(NamedTuple):
    """One message to be written; `size_bytes` of its line count towards a batch."""

    key: bytes | None
    value: bytes | None
    size_bytes: int


@click.command("produce")
@click.argument("topic")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--key-separator", metavar="S", help="The key is what stands before the first S.")
@click.option("--key-regex", metavar="R", help="The key is group 1 of R, else all that it matches.")
@click.option("--null-value", metavar="TOKEN", help="A value of just TOKEN means null.")
@partitioner_option
@click.option("--partition", type=int, metavar="N", help="All messages go to partition N.")
@click.option(
    "--acks",
    type=click.Choice(["0", "1", "-1"]),
    default="1",
    show_default=True,
    help="0: do not wait, and print -1 as offset. 1 and -1 are the same on one broker.",
)
@click.option("--seed", type=int, help="Of the random choice of a partition.")
@config_option("A setting of the producer, e.g. batch.size=65536; repeatable.")
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    topic: str,
    file: BinaryIO,
    key_separator: str | None,
    key_regex: str | None,
    null_value: str | None,
    partitioner: str,
    partition: int | None,
    acks: str,
    seed: int | None,
    config: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write each line of FILE, or of stdin, as a message to TOPIC."""
    found = LogDir(log_dir_path).topic(topic)
    batch_bytes = parse_config(config, scope="producer").get(
        "batch.size", SETTINGS["batch.size"].default
    )
    place = _placement(found, partitioner, partition, random.Random(seed))
    records = _records(file, _key_rule(key_separator, key_regex), null_value)
    report = _Report(found, is_acknowledged=acks != "0", as_json=as_json)
    with LogDirWriter.open(log_dir_path) as writer:
        try:
            for batch in _batches(records, batch_bytes):
                report.add(_write(writer, found, batch, place(batch)))
        finally:
            warn_all(writer.warnings)  # of partitions that were recovered when they were opened
            report.close()


class _Report:
    """Prints an object for each message at once, or a line for each partition at the end.

    Messages are written even if nobody reads about it any more.
    """

    def __init__(self, topic: Topic, *, is_acknowledged: bool, as_json: bool) -> None:
        self._topic = topic
        self._is_acknowledged = is_acknowledged
        self._as_json = as_json
        self._is_read = True
        self._ranges: dict[TopicPartition, tuple[int, int]] = {}

    def add(self, written: Sequence[tuple[TopicPartition, int]]) -> None:
        """Take the places of a batch's messages."""
        for partition, offset in written:
            first_offset, _ = self._ranges.get(partition, (offset, 0))
            self._ranges[partition] = first_offset, offset
        if self._as_json and self._is_read:
            self._write(written)

    def close(self) -> None:
        """Print what there is to say at the end."""
        if self._as_json:
            return
        for partition, (first, last) in sorted(self._ranges.items()):
            offsets = f"offsets {first}..{last}" if self._is_acknowledged else "not waited for"
            write_line(f"{partition}: {offsets} ({count(last - first + 1, 'message')})")
        if not self._ranges:
            write_line(f"{self._topic.name}: no messages")

    def _write(self, written: Sequence[tuple[TopicPartition, int]]) -> None:
        try:
            for partition, offset in written:
                known = offset if self._is_acknowledged else -1
                write_record({**partition._asdict(), "offset": known})
            flush()
        except BrokenPipeError:
            self._is_read = False


def _key_rule(separator: str | None, regex: str | None) -> KeyOf:
    """Return the rule that makes key and value of a line."""
    if separator is not None and regex is not None:
        raise click.UsageError("give --key-separator or --key-regex, not both")
    if separator == "":
        raise click.UsageError("--key-separator must not be empty")
    if separator is not None:
        return _by_separator(separator.encode("utf-8", "surrogateescape"))
    if regex is not None:
        return _by_regex(regex)
    return lambda line: (None, line)


def _by_separator(separator: bytes) -> KeyOf:
    def split(line: bytes) -> tuple[bytes | None, bytes]:
        key, found, value = line.partition(separator)
        return (key, value) if found else (None, line)

    return split


def _by_regex(regex: str) -> KeyOf:
    try:
        pattern = re.compile(regex.encode("utf-8", "surrogateescape"))
    except re.error as error:
        raise click.UsageError(f"--key-regex {regex!r}: {error}") from None

    def search(line: bytes) -> tuple[bytes | None, bytes]:
        match = pattern.search(line)
        return match and match[1 if pattern.groups else 0], line

    return search


def _records(file: BinaryIO, key_of: KeyOf, null_value: str | None) -> Iterator[Record]:
    null = None if null_value is None else null_value.encode("utf-8", "surrogateescape")
    for line in file:
        key, value = key_of(line.removesuffix(b"\n"))
        yield Record(key, None if value == null else value, len(line))


def _batches(records: Iterable[Record], batch_bytes: int) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size_bytes = 0
    for record in records:
        batch.append(record)
        size_bytes += record.size_bytes
        if size_bytes >= batch_bytes:
            yield batch
            batch, size_bytes = [], 0
    if batch:
        yield batch


def _placement(
    topic: Topic, partitioner: str, partition: int | None, chance: random.Random
) -> Callable[[Sequence[Record]], list[TopicPartition]]:
    """Return the rule that gives each record of a batch its partition."""
    if partition is not None:
        fixed = topic.partition(partition)
        return lambda batch: [fixed] * len(batch)
    rule = keyed_rule(partitioner)

    def place(batch: Sequence[Record]) -> list[TopicPartition]:
        drawn = chance.randrange(topic.partitions)
        return [
            topic.partition(drawn if record.key is None else rule(record.key, topic.partitions))
            for record in batch
        ]

    return place


def _write(
    writer: LogDirWriter, topic: Topic, batch: Sequence[Record], places: Sequence[TopicPartition]
) -> list[tuple[TopicPartition, int]]:
    """Append a batch and return where its records are, in their order."""
    _refuse_what_cannot_be_stored(topic, batch)
    messages: dict[TopicPartition, list[tuple[bytes | None, bytes | None]]] = {}
    for record, place in zip(batch, places, strict=True):
        messages.setdefault(place, []).append((record.key, record.value))
    logs = {place: writer.log(place) for place in messages}  # all are sound, or none is written
    now_ms = time.time_ns() // 1_000_000
    offsets = {
        place: iter(logs[place].append(messages[place], now_ms=now_ms)) for place in messages
    }
    return [(place, next(offsets[place])) for place in places]


def _refuse_what_cannot_be_stored(topic: Topic, batch: Sequence[Record]) -> None:
    """Raise what an append would, before the first of several partitions is written."""
    if not topic.dialect.has_value_length and any(record.value is None for record in batch):
        raise NullValueError(topic.dialect.name)
    largest = max(encoded_bytes(topic.dialect, record.key, record.value) for record in batch)
    for setting in ("max.message.bytes", "segment.bytes"):
        limit_bytes = topic.settings.to_config()[setting]
        if largest > limit_bytes:
            raise MessageTooLargeError(size_bytes=largest, limit_bytes=limit_bytes, setting=setting)
