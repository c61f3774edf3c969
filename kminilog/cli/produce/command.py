"""`kminilog produce`: a message per line, from a file or from stdin, into a topic.

Lines end at newlines only, and their bytes are not changed. A batch is written when it is full, all
others after 10,000 lines, at the end of the input, and when a pipe makes a pause: no more lines are
there. So a file goes in full batches, and one seed gives one result; `tail -f x | kminilog produce`
delivers each line at once. With linger.ms a thread decides instead of the pauses. On a terminal
each typed line is written at once, and acknowledged below it.

A line that cannot be sent ends the command: full batches before it are written, nothing else is.
After Ctrl-C or SIGTERM all lines that were read are written.

Source: S1 3; Kafka: ConsoleProducer.
"""

import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click

from kminilog.cli.produce.input_lines import InputLines, typing
from kminilog.cli.produce.line_messages import LineMessage, line_rule
from kminilog.cli.produce.sent_lines import SentLines, write_stats
from kminilog.cli.shared.cluster_option import topics_at
from kminilog.cli.shared.clusters import LeaderSide, leader_side
from kminilog.cli.shared.interrupts import is_interrupted
from kminilog.cli.shared.named_files import InputStream
from kminilog.cli.shared.options import config_option, example, json_option, to_separator
from kminilog.cli.shared.output import warn
from kminilog.clock import Chance, Clock
from kminilog.config import parse_config
from kminilog.errors import KMiniLogError, NullValueError, PartitionOfRecordError, SourceError
from kminilog.format.message import encoded_bytes
from kminilog.plugins import look_in_current_directory
from kminilog.producer.batch import SendFuture
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord
from kminilog.producer.sender import Producer, log_choice
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.settings import INT64_MAX
from kminilog.storage.topics import Topic
from kminilog.system import SystemClock

SOME_WERE_LOST = 1
MAX_WAITING = 10_000


class _Source(NamedTuple):
    """Where the lines come from, what they are as messages, and where these go."""

    file: BinaryIO
    is_typed: bool
    lines: InputLines
    messages: Iterator[LineMessage]
    topic: Topic
    partition: int | None


@click.command("produce", epilog=example("kminilog produce orders orders.txt --key-separator :"))
@click.argument("topic")
@click.argument("file", type=InputStream(), default="-")
@click.option(
    "--key-separator",
    metavar="S",
    type=to_separator,
    help="Separator: the text before its first occurrence in a line is the key. \\t is a tab, "
    "\\0 a zero byte, \\xHH any byte.",
)
@click.option(
    "--key-regex",
    metavar="R",
    help="Regular expression that finds the key: its group 1, or else the whole match.",
)
@click.option("--null-value", metavar="TOKEN", help="Text that stands for a null value.")
@click.option(
    "--partitioner",
    metavar="NAME",
    help="Partitioner: its name (`kminilog partition --help` lists them), or your own class as "
    "package.module.Class.  "
    "[default: default-2.4]",
)
@click.option(
    "--partition",
    type=int,
    metavar="N",
    help="Partition that all messages go to, instead of the partitioner's choice.",
)
@click.option(
    "--acks",
    type=click.Choice(["0", "1", "-1", "all"]),
    help="Acknowledgement to wait for: 0 none (offsets print as -1), 1 the leader's, -1 or all: "
    "that of all in-sync replicas. A log dir has one replica: 1 and -1 are the same. With 0, "
    "the command reports a batch that it cannot write, and goes on; the exit code is then 1.  "
    "[default: 1]",
)
@click.option(
    "--on-failure",
    type=click.Choice(["stop", "go-on"]),
    default="stop",
    help="What to do if a batch cannot be written: stop, or drop the batch, count it and go on.",
)
@click.option(
    "--stats",
    "has_stats",
    is_flag=True,
    help="Show at the end: batches and how full they were, records by partition, retries, and "
    "how long lines waited for memory.",
)
@click.option(
    "--verbose",
    "is_verbose",
    is_flag=True,
    help="Log on stderr which partition is chosen for each line.",
)
@click.option("--seed", type=int, help="Seed for the random generator of the partitioner.")
@config_option("Setting of the producer, e.g. batch.size=65536. Repeatable.")
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    topic: str,
    file: BinaryIO,
    key_separator: bytes | None,
    key_regex: str | None,
    null_value: str | None,
    partitioner: str | None,
    partition: int | None,
    acks: str | None,
    on_failure: str,
    has_stats: bool,
    is_verbose: bool,
    seed: int | None,
    config: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write each line of FILE, or of stdin, as a message to TOPIC."""
    look_in_current_directory()
    found = topics_at(log_dir_path).topic(topic)
    settings = _settings(config, partitioner, acks)
    rule = line_rule(found, key_separator, key_regex, null_value)
    if is_typed := file.isatty():
        _check_partition(found, partition)
    sent = SentLines(found, is_going_on=on_failure == "go-on", as_json=as_json, is_typed=is_typed)
    clock, chance = SystemClock(), random.Random(seed)
    is_complete = False
    with leader_side(log_dir_path, clock, settings, has_thread=_has_thread(settings)) as side:
        try:
            with (
                log_shown(is_verbose),
                typing(is_typed) as before_waiting,
                _producer(side, settings, clock, chance) as producer,
            ):
                lines = InputLines(file, rule.longest_bytes, before_waiting=before_waiting)
                messages = rule.messages(lines, _name(file))
                source = _Source(file, is_typed, lines, messages, found, partition)
                _send_all(producer, source, sent)
            is_complete = not is_interrupted()
        except Exception as error:
            error.add_note(sent.after_failure())
            raise
        finally:
            sent.close(is_complete=is_complete)
    if has_stats:
        write_stats(producer, found, as_json=as_json)
    is_all_written = sent.is_all_acknowledged and not side.unheard.exit_code
    return 0 if is_all_written else SOME_WERE_LOST


def _settings(config: tuple[str, ...], partitioner: str | None, acks: str | None) -> dict[str, Any]:
    """Return the producer's settings; a batch waits until it is full, unless linger.ms is given."""
    options = {"partitioner.class": partitioner, "acks": acks}
    given = {name: value for name, value in options.items() if value is not None}
    settings = {"linger.ms": INT64_MAX, **parse_config(config, PRODUCER_SETTINGS), **given}
    for of_what in ("key.serializer", "value.serializer"):
        name = settings.get(of_what) or settings.get("serializer.class", "")
        # Lines are bytes and are not changed, whether a setting calls them text or not.
        settings[of_what] = "text-or-bytes" if name in ("", "bytes", "string") else name
    return settings


def _has_thread(settings: dict[str, Any]) -> bool:
    """With linger.ms a batch is sent while the input pauses: that needs a thread."""
    return bool(settings["linger.ms"] != INT64_MAX)


def _producer(
    side: LeaderSide, settings: dict[str, Any], clock: Clock, chance: Chance
) -> ManualProducer:
    if _has_thread(settings):
        return Producer(side.leaders, settings, clock=clock, chance=chance, on_error=warn)
    return ManualProducer(
        side.leaders,
        settings,
        clock=clock,
        chance=chance,
        alongside=side.alongside,
        on_error=warn,
        on_choice=log_choice,
    )


def _send_all(producer: ManualProducer, source: _Source, sent: SentLines) -> None:
    has_thread = isinstance(producer, Producer)
    line = None
    for line in source.messages:
        try:
            sent.expect(_send(producer, source, line))
        except SourceError:
            if not has_thread:
                _send_full_batches(producer)
            raise
        if _is_time_to_flush(source, sent, has_thread=has_thread):
            producer.flush()
        elif producer.is_ready and not has_thread:
            _send_full_batches(producer)
        elif not has_thread:
            continue  # no batch was sent, so nobody knows more
        sent.add_done()
    if line is None:
        _check_partition(source.topic, source.partition)
    producer.flush()
    sent.add_done()


def _check_partition(topic: Topic, partition: int | None) -> None:
    """Raise what the producer would for the first line: there is none, or one has to type it."""
    if partition is not None and not 0 <= partition < topic.partitions:
        raise PartitionOfRecordError(topic.name, partition=partition, partitions=topic.partitions)


def _is_time_to_flush(source: _Source, sent: SentLines, *, has_thread: bool) -> bool:
    """Tell if all lines that were read should be written now, although batches have room."""
    if source.is_typed or sent.waiting_count >= MAX_WAITING:
        return True
    return not has_thread and source.lines.is_pausing()


def _send_full_batches(producer: ManualProducer) -> None:
    while any(producer.step()):
        pass


def _send(producer: ManualProducer, source: _Source, line: LineMessage) -> SendFuture:
    record = ProducerRecord(source.topic.name, _as_text(line.key), line.value, source.partition)
    try:
        try:
            # Raise now what the append of a whole batch would.
            if line.value is None and not source.topic.dialect.has_value_length:
                raise NullValueError(source.topic.dialect.name)
            size_bytes = encoded_bytes(source.topic.dialect, line.key, line.value)
            source.topic.settings.check_message(size_bytes, is_at_least=line.is_cut)
        except KMiniLogError as error:
            producer.refuse(record, error)
            raise
        return producer.send(record)
    except (KMiniLogError, ValueError) as error:
        raise SourceError(f"{_name(source.file)}, line {line.number}", reason=str(error)) from error


def _name(file: BinaryIO) -> str:
    return str(getattr(file, "name", "<stdin>"))


def _as_text(data: bytes | None) -> str | bytes | None:
    """A key as the 0.8 partitioner hashes it: text if it can be."""
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return data


class _Lines(logging.Handler):
    """Writes each log record as one line, special characters escaped."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line."""
        warn(record.getMessage())


@contextmanager
def log_shown(is_verbose: bool) -> Iterator[None]:
    """Show in this block all that is logged under `kminilog`, if `is_verbose`."""
    if not is_verbose:
        yield
        return
    logger, lines = logging.getLogger("kminilog"), _Lines()
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(lines)
