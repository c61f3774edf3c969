"""`kminilog consume`: print the messages of one topic or of several, and wait for more.

It reads the partitions in turn. It ends after `--max-messages`, or when no message has come for
consumer.timeout.ms, with exit code 0 both times. With `--group` it reads a share of the partitions:
processes with the same group divide them, and those of a killed process go to the others. It
commits what it has written to stdout; the next owner of the partition reads the rest again. Order
holds inside a partition only. A gap is damage, unless gaps are allowed; then stderr has a line for
each gap. Source: S3; Kafka: ConsoleConsumer.
"""

import random
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from kminilog.cli.current_directory import make_importable
from kminilog.cli.interrupts import check_interrupt
from kminilog.cli.options import allow_gaps_option, config_option, example, json_option, to_offset
from kminilog.cli.output import (
    bytes_field,
    flush,
    is_terminal,
    warn,
    write_bytes,
    write_record,
)
from kminilog.clock import Clock
from kminilog.config_parsing import parse_config
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.fetching import OffsetReset
from kminilog.consumer.group_file import check_group
from kminilog.consumer.interface import ConsumerRecord
from kminilog.consumer.membership import NO_MEMBER
from kminilog.consumer.readers import LogDirSource
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.format.names import TopicPartition
from kminilog.notices import OnGap
from kminilog.printable import printable_bytes
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic
from kminilog.system import SystemClock, WallClock

_POLL_MS = 100


def _to_start(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    return value if value in ("earliest", "latest") else to_offset(ctx, param, value)


@click.command("consume", epilog=example("kminilog consume orders --print-key --max-messages 3"))
@click.argument("topic", required=False)
@click.option(
    "--pattern",
    metavar="REGEX",
    help="Regular expression: read all topics whose whole name matches.",
)
@click.option("--partition", type=int, metavar="P", help="Partition to read.  [default: all]")
@click.option(
    "--offset",
    "start",
    default="earliest",
    show_default=True,
    callback=_to_start,
    metavar="N|earliest|latest",
    help="Offset to start at. A number needs --partition, unless the topic has only one.",
)
@click.option(
    "--max-messages", type=click.IntRange(min=0), metavar="N", help="Stop after N messages."
)
@click.option(
    "--group",
    metavar="G",
    help="Consumer group to join: the group assigns a share of the partitions.",
)
@click.option(
    "--print-key", is_flag=True, help="Print key, tab and value instead of the value alone."
)
@click.option(
    "--raw", "is_raw", is_flag=True, help="Print bytes unchanged on a terminal, too, as in a pipe."
)
@allow_gaps_option
@config_option("Setting of the consumer, e.g. consumer.timeout.ms=1000. Repeatable.")
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    topic: str | None,
    pattern: str | None,
    partition: int | None,
    start: int | str,
    max_messages: int | None,
    group: str | None,
    print_key: bool,
    is_raw: bool,
    on_gap: OnGap | None,
    config: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print the messages of TOPIC, and wait for more."""
    log_dir = LogDir(log_dir_path)
    source = LogDirSource(log_dir, on_gap=on_gap)
    topics = _topics(log_dir, topic, pattern)
    clock = SystemClock()
    is_escaping = is_terminal() and not is_raw
    printing = _Printing(clock, as_json=as_json, print_key=print_key, is_escaping=is_escaping)
    settings = parse_config(config, CONSUMER_SETTINGS)
    if group is None:
        group = settings.get("group.id") or None
    if group is not None:
        check_group(group)
        make_importable()
        if partition is not None or isinstance(start, int):
            raise click.UsageError("a group shares partitions out: no --partition, no --offset N")
        settings = {**settings, "group.id": group}
        consumer = _member(log_dir, source, topics, pattern, settings, start, printing, clock)
    else:
        consumer = _reader(source, _partitions(topics, partition), settings, start, printing, clock)
    printing.run(consumer, max_messages)


def _reader(
    source: LogDirSource,
    partitions: list[TopicPartition],
    settings: dict[str, Any],
    start: int | str,
    printing: "_Printing",
    clock: Clock,
) -> Consumer:
    """A consumer of these partitions, without a group."""
    if isinstance(start, int) and len(partitions) > 1:
        raise click.UsageError("an offset belongs to one partition: name it with --partition")
    config = {"auto.offset.reset": "none", **settings}
    consumer = Consumer(source, config, clock=clock, on_reset=printing.on_reset)
    consumer.assign(partitions)
    for found in partitions:
        if isinstance(start, int):
            consumer.seek(found, start)
        else:
            consumer.seek(
                found, source.end(found) if start == "latest" else source.beginning(found)
            )
    return consumer


def _member(
    log_dir: LogDir,
    source: LogDirSource,
    topics: list[Topic],
    pattern: str | None,
    settings: dict[str, Any],
    start: int | str,
    printing: "_Printing",
    clock: Clock,
) -> Consumer:
    """A consumer of a share of these topics."""
    printing.is_committing = settings.get("enable.auto.commit", True)
    consumer = Consumer(
        source,
        {"auto.offset.reset": start, **settings, "enable.auto.commit": False},
        clock=clock,
        coordinator=Coordinator(
            log_dir.path, source.topics, clock=WallClock(), chance=random.Random()
        ),
        on_assigned=printing.on_assigned,
        on_revoked=printing.on_revoked,
        on_lost=printing.on_lost,
        on_reset=printing.on_reset,
    )
    if pattern is None:
        consumer.subscribe([found.name for found in topics])
    else:
        consumer.subscribe(pattern=pattern)
    return consumer


class _Printing:
    """Prints records, and commits what was printed."""

    def __init__(self, clock: Clock, *, as_json: bool, print_key: bool, is_escaping: bool) -> None:
        self.is_committing = False
        self._clock = clock
        self._as_json = as_json
        self._print_key = print_key
        self._is_escaping = is_escaping
        self._printed: dict[TopicPartition, int] = {}
        self._consumer: Consumer | None = None

    def run(self, consumer: Consumer, max_messages: int | None) -> None:
        """Print records until the maximum is reached, or until the time-out without a record."""
        self._consumer = consumer
        timeout_ms = consumer.config["consumer.timeout.ms"]
        interval_ms = consumer.config["auto.commit.interval.ms"]
        left = float("inf") if max_messages is None else max_messages
        heard_ms = committed_ms = self._clock.now_ms()
        try:
            while left > 0:
                check_interrupt()
                limit = int(min(left, consumer.config["max.poll.records"]))
                poll_ms = _POLL_MS if timeout_ms < 0 else min(_POLL_MS, timeout_ms)
                records = consumer.poll(poll_ms, limit)
                self._print(records)
                left -= len(records)
                now_ms = self._clock.now_ms()
                if records or not consumer.is_settled:
                    heard_ms = now_ms
                elif 0 <= timeout_ms <= now_ms - heard_ms:
                    break
                if now_ms - committed_ms >= interval_ms:
                    self._commit()
                    committed_ms = now_ms
        finally:
            try:
                self._commit()
            finally:
                consumer.close()

    def on_assigned(self, partitions: list[TopicPartition]) -> None:
        """Commit the first offsets, too, so that the next owner does not start at the end."""
        for partition in partitions:
            if self._consumer:
                self._printed[partition] = self._consumer.position(partition)

    def on_revoked(self, partitions: list[TopicPartition]) -> None:
        """Commit what was printed, while this member still owns the partitions."""
        self._commit()
        self.on_lost(partitions)

    def on_lost(self, partitions: list[TopicPartition]) -> None:
        """Forget these partitions: this member may no longer commit for them."""
        for partition in partitions:
            self._printed.pop(partition, None)

    def on_reset(self, reset: OffsetReset) -> None:
        """Report the reset and read on from there; the old committed offset is void."""
        warn(str(reset))
        self._printed[reset.topic_partition] = reset.next_offset

    def _print(self, records: list[ConsumerRecord]) -> None:
        for record in records:
            self._write(record)
        if records:
            flush()  # before it counts as printed
        for record in records:
            self._printed[record.topic_partition] = record.offset + 1

    def _write(self, record: ConsumerRecord) -> None:
        if self._as_json:
            fields = {**bytes_field("key", record.key), **bytes_field("value", record.value)}
            place = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
            write_record({**place, **fields})
            return
        parts = [record.key, record.value] if self._print_key else [record.value]
        written = [b"null" if part is None else part for part in parts]
        write_bytes(b"\t".join(map(printable_bytes, written) if self._is_escaping else written))

    def _commit(self) -> None:
        if self.is_committing and self._printed and self._consumer:
            with suppress(*NO_MEMBER):  # then others have the partitions
                self._consumer.commit(self._printed)


def _topics(log_dir: LogDir, topic: str | None, pattern: str | None) -> list[Topic]:
    if (topic is None) == (pattern is None):
        raise click.UsageError("name one TOPIC, or several with --pattern")
    if topic is not None:
        return [log_dir.topic(topic)]
    try:
        matches = re.compile(pattern or "").fullmatch
    except re.error as error:
        raise click.UsageError(f"--pattern {pattern!r}: {error}") from None
    found = [candidate for candidate in log_dir.topics() if matches(candidate.name)]
    if not found:
        raise ValueError(f"no topic matches {pattern!r}; `kminilog topic list` shows all there are")
    return found


def _partitions(topics: Iterable[Topic], partition: int | None) -> list[TopicPartition]:
    if partition is not None:
        return [topic.partition(partition) for topic in topics]
    return [found for topic in topics for found in topic.all_partitions()]
