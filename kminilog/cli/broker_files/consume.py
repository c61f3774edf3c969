r"""`consume` from a Kafka broker's log directory: what a consumer with read_committed gets.

Records of aborted transactions and control records are left out, and counted on stderr. It commits
nothing, because nothing is written there: so there is no `--group`. A format has two more letters:

    %T timestamp in milliseconds, -1 in format v0      %h headers, as name=value,name=value

Source: ours; Kafka: ConsoleConsumer, isolation.level; kcat (-f).
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import click
from click.core import ParameterSource

from kminilog.broker_files.directory import BrokerDirectory
from kminilog.broker_files.partition import BrokerPartition, CommittedRecords, StoredRecord
from kminilog.cli.broker_files.fields import (
    no_gaps_option,
    producer_json,
    refused_option,
    timed_json,
)
from kminilog.cli.consume.options import (
    format_option,
    line_writer,
    place_options,
    print_key_option,
    raw_option,
)
from kminilog.cli.shared.interrupts import check_interrupt
from kminilog.cli.shared.options import config_option, example, json_option, key_option
from kminilog.cli.shared.output import flush, is_terminal, warn, write_record
from kminilog.config import parse_config
from kminilog.consumer.group_moves import LATEST, offset_of
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.json_fields import bytes_field
from kminilog.regex import compile_regex
from kminilog.system import SystemClock
from kminilog.text import count

_POLL_MS = 100
_IN_TURN = 500  # records of a partition, before the next one has its turn
_NO_GROUP = "a group commits offsets, and nothing is written into a Kafka broker's directory"


class _Consumed(NamedTuple):
    """A record as it is written."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    stored: StoredRecord


Write = Callable[[_Consumed], None]


def _headers(consumed: _Consumed) -> bytes:
    headers = consumed.stored.record.headers
    return b",".join(name.encode() + b"=" + (value or b"") for name, value in headers)


_LETTERS = {"T": lambda one: b"%d" % one.stored.record.timestamp, "h": _headers}


@click.command("consume", epilog=example("kminilog consume orders --until-end"))
@place_options
@key_option("Print only records with this key.")
@click.option("--group", metavar="G", help="Refused: a group would write its offsets.")
@refused_option("--streams", "streams share what a group assigns, and there is none", metavar="N")
@print_key_option
@format_option("%T timestamp, %h headers", _LETTERS)
@raw_option
@config_option("Setting of the consumer: consumer.timeout.ms.")
@no_gaps_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    topic: str | None,
    pattern: str | None,
    partition: int | None,
    start: int | str,
    tail: int | None,
    is_until_end: bool,
    max_messages: int | None,
    key: bytes | None,
    group: str | None,
    print_key: bool,
    line_format: str | None,
    is_raw: bool,
    config: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print the records of TOPIC in a Kafka broker's directory, and wait for more.

    Aborted transactions and control records are left out. The command writes nothing there.
    """
    settings = parse_config(config, CONSUMER_SETTINGS)
    if group is not None or settings.get("group.id"):
        raise click.UsageError(f"{_NO_GROUP}: drop the group")
    if tail is not None and ctx.get_parameter_source("start") is not ParameterSource.DEFAULT:
        raise click.UsageError("--tail and --offset both say where to start: give one of them")
    write = line_writer(
        line_format,
        _write_json if as_json else None,
        print_key=print_key,
        is_escaping=is_terminal() and not is_raw,
        more=_LETTERS,
    )
    broker = BrokerDirectory(ctx.obj)
    readers = [BrokerPartition(broker, one) for one in _chosen(broker, topic, pattern, partition)]
    start = start if tail is None else -tail or LATEST
    if isinstance(start, int) and start >= 0 and len(readers) > 1:
        raise click.UsageError("an offset belongs to one partition: name it with --partition")
    turns = [_Turn(reader, start, is_until_end=is_until_end) for reader in readers]
    try:
        _run(turns, write, key, max_messages, settings, is_until_end=is_until_end)
    finally:
        for turn in turns:
            turn.tell()


class _Turn:
    """A partition that is read, some records in each turn, perhaps only to where it ends now."""

    def __init__(self, reader: BrokerPartition, start: int | str, *, is_until_end: bool) -> None:
        self.topic_partition = reader.topic_partition
        end = reader.log_end_offset
        self.end = end if is_until_end else MAX_OFFSET
        offset = offset_of(start, reader.log_start_offset, end)
        reader.check_is_readable(offset)
        self._records = CommittedRecords(reader, offset)
        self._iterator = iter(self._records)
        self.position = offset

    def take(self) -> Iterator[_Consumed]:
        """Yield the next records; none if there is nothing to read now."""
        is_empty = True
        for stored in islice(self._iterator, _IN_TURN):
            is_empty = False
            record = stored.record
            self.position = record.offset + 1
            if record.offset >= self.end:
                return
            yield _Consumed(*self.topic_partition, record.offset, record.key, record.value, stored)
        if is_empty:
            self._iterator = iter(self._records)

    def tell(self) -> None:
        """Say on stderr what was left out."""
        found, left_out = self._records, []
        if found.aborted_count:
            left_out.append(f"{count(found.aborted_count, 'record')} of aborted transactions")
        if found.control_count:
            left_out.append(count(found.control_count, "control record"))
        if left_out:
            warn(f"{self.topic_partition}: left out: {', '.join(left_out)}")
        if found.open_offset is not None:
            warn(
                f"{self.topic_partition}: a transaction is open, so the records from offset "
                f"{found.open_offset} on are left out"
            )


def _run(
    turns: list[_Turn],
    write: Write,
    key: bytes | None,
    max_messages: int | None,
    settings: dict[str, object],
    *,
    is_until_end: bool,
) -> None:
    """Write records, partition by partition in turn, until it is to end."""
    clock = SystemClock()
    timeout_ms = int(str(settings.get("consumer.timeout.ms", -1)))
    heard_ms, left = clock.now_ms(), max_messages
    while left != 0 and turns:
        check_interrupt()
        is_quiet = True
        for consumed in (consumed for turn in turns for consumed in turn.take()):
            is_quiet = False
            if key in (None, consumed.key):
                write(consumed)
                left = None if left is None else left - 1
                if left == 0:
                    break
        flush()
        if is_until_end:
            turns = [turn for turn in turns if turn.position < turn.end and not is_quiet]
        elif not is_quiet:
            heard_ms = clock.now_ms()
        elif 0 <= timeout_ms <= clock.now_ms() - heard_ms:
            return
        else:
            clock.sleep_ms(_POLL_MS)


def _chosen(
    broker: BrokerDirectory, topic: str | None, pattern: str | None, partition: int | None
) -> list[TopicPartition]:
    if (topic is None) == (pattern is None):
        raise click.UsageError("name one TOPIC, or several with --pattern")
    if topic is not None and partition is not None:
        return [TopicPartition(topic, partition)]
    if topic is not None:
        return broker.partitions(topic)
    matches = compile_regex(pattern or "", "--pattern").fullmatch
    found = [
        one
        for one in broker.partitions()
        if matches(one.topic) and partition in (None, one.partition)
    ]
    if not found:
        raise ValueError(f"no topic matches {pattern!r}; `kminilog ls` shows all there are")
    return found


def _write_json(consumed: _Consumed) -> None:
    _, batch, record = consumed.stored
    write_record(
        {
            "topic": consumed.topic,
            "partition": consumed.partition,
            "offset": record.offset,
            **bytes_field("key", record.key),
            **bytes_field("value", record.value),
            **timed_json(batch, record),
            "codec": batch.codec,
            **producer_json(batch, record),
        }
    )
