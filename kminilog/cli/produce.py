"""`kminilog produce`: a message per line, from a file or from stdin, into a topic.

Lines end at newlines only, and their bytes are not changed. The producer has no thread, so one seed
gives one result: a batch is written when it is full, all others after 10,000 lines and at the end
of the input. With linger.ms there is a thread, and batches are written while the input pauses, too.
A line that cannot be sent ends the command: full batches before it are written, nothing else is.
After Ctrl-C or SIGTERM all lines that were read are written.

Source: S1 3; Kafka: ConsoleProducer.
"""

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click

from kminilog.cli.current_directory import make_importable
from kminilog.cli.interrupts import interruptible_wait, is_interrupted
from kminilog.cli.options import config_option, example, json_option
from kminilog.cli.output import warn, warn_all
from kminilog.cli.produce_report import Report
from kminilog.cli.recovery_reading import open_writer
from kminilog.cluster.standalone import StandaloneBroker
from kminilog.config_parsing import parse_config
from kminilog.errors import KMiniLogError, NullValueError
from kminilog.format.message import encoded_bytes
from kminilog.job_errors import SourceError
from kminilog.producer.batch import SendFuture
from kminilog.producer.hand_driven import HandDrivenProducer
from kminilog.producer.record import ProducerRecord
from kminilog.producer.sender import Producer
from kminilog.producer.serializers import short_name
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.settings import INT64_MAX
from kminilog.storage.log_dir import LogDir
from kminilog.storage.topics import Topic
from kminilog.system import SystemClock

KeyOf = Callable[[bytes], tuple[bytes | None, bytes]]
SOME_WERE_LOST = 1
MAX_WAITING = 10_000


class Line(NamedTuple):
    """One line of input as a message; `is_cut` if it is too long and was not read to its end."""

    number: int
    key: bytes | None
    value: bytes | None
    is_cut: bool


@click.command("produce", epilog=example("kminilog produce orders orders.txt --key-separator :"))
@click.argument("topic")
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--key-separator",
    metavar="S",
    help="Separator: the text before its first occurrence in a line is the key.",
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
    type=click.Choice(["0", "1", "-1"]),
    help="Acknowledgement to wait for: 0 none (offsets print as -1), 1 the leader's, -1 that of "
    "all in-sync replicas. A log dir has one replica: 1 and -1 are the same.  "
    "[default: 1]",
)
@click.option(
    "--on-failure",
    type=click.Choice(["stop", "go-on"]),
    default="stop",
    show_default=True,
    help="What to do if a batch cannot be written: stop, or drop the batch, count it and go on.",
)
@click.option("--seed", type=int, help="Seed for the random generator of the partitioner.")
@config_option("Setting of the producer, e.g. batch.size=65536. Repeatable.")
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    topic: str,
    file: BinaryIO,
    key_separator: str | None,
    key_regex: str | None,
    null_value: str | None,
    partitioner: str | None,
    partition: int | None,
    acks: str | None,
    on_failure: str,
    seed: int | None,
    config: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write each line of FILE, or of stdin, as a message to TOPIC."""
    make_importable()
    found = LogDir(log_dir_path).topic(topic)
    if partition is not None:
        found.partition(partition)
    settings = _settings(config, partitioner, acks)
    key_of = _key_rule(key_separator, key_regex)
    report = Report(found, is_going_on=on_failure == "go-on", as_json=as_json)
    clock, chance = SystemClock(), random.Random(seed)
    # With linger.ms a batch is sent while the input pauses: that needs a thread.
    kind = HandDrivenProducer if settings["linger.ms"] == INT64_MAX else Producer
    is_complete = False
    with open_writer(log_dir_path) as writer:
        null = None if null_value is None else null_value.encode("utf-8", "surrogateescape")
        longest = _longest_line_bytes(found, key_separator, null)
        lines = _lines(_read(file, longest), longest, key_of, null)
        try:
            broker = StandaloneBroker(writer, clock)
            with kind(broker, settings, clock=clock, chance=chance, on_error=warn) as producer:
                _send_all(producer, found, partition, lines, file, report)
            is_complete = not is_interrupted()
        except Exception as error:
            error.add_note(report.after_failure())
            raise
        finally:
            warn_all(writer.warnings)  # of partitions that were recovered when they were opened
            report.close(is_complete=is_complete)
    return 0 if report.is_all_acknowledged else SOME_WERE_LOST


def _settings(config: tuple[str, ...], partitioner: str | None, acks: str | None) -> dict[str, Any]:
    """Return the producer's settings; a batch waits until it is full, unless linger.ms is given."""
    options = {"partitioner.class": partitioner, "acks": acks}
    given = {name: value for name, value in options.items() if value is not None}
    settings = {"linger.ms": INT64_MAX, **parse_config(config, PRODUCER_SETTINGS), **given}
    for of_what in ("key.serializer", "value.serializer"):
        name = settings.get(of_what) or settings.get("serializer.class", "")
        # Lines are bytes and are not changed, whether a setting calls them text or not.
        settings[of_what] = "text-or-bytes" if short_name(name) in ("", "bytes", "string") else name
    return settings


def _send_all(
    producer: HandDrivenProducer,
    topic: Topic,
    partition: int | None,
    lines: Iterator[Line],
    file: BinaryIO,
    report: Report,
) -> None:
    has_thread = isinstance(producer, Producer)
    is_typed = file.isatty()
    for line in lines:
        try:
            report.expect(_send(producer, topic, partition, line, file))
        except SourceError:
            if not has_thread:
                _send_full_batches(producer)
            raise
        if is_typed or report.waiting_count >= MAX_WAITING:
            producer.flush()
        elif producer.is_ready and not has_thread:
            _send_full_batches(producer)
        report.add_done()
    producer.flush()
    report.add_done()


def _send_full_batches(producer: HandDrivenProducer) -> None:
    while any(producer.step()):
        pass


def _send(
    producer: HandDrivenProducer, topic: Topic, partition: int | None, line: Line, file: BinaryIO
) -> SendFuture:
    try:
        _refuse_what_cannot_be_stored(topic, line)
        key = _as_text(line.key)
        return producer.send(ProducerRecord(topic.name, key, line.value, partition))
    except (KMiniLogError, ValueError) as error:
        name = getattr(file, "name", "<stdin>")
        raise SourceError(f"{name}, line {line.number}", reason=str(error)) from error


def _as_text(data: bytes | None) -> str | bytes | None:
    """A key as the 0.8 partitioner hashes it: text if it can be."""
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return data


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


def _longest_line_bytes(topic: Topic, separator: str | None, null: bytes | None) -> int:
    """Return the length above which no line, without its newline, can be stored."""
    left_out = len((separator or "").encode("utf-8", "surrogateescape")) + len(null or b"")
    return topic.settings.largest_message_bytes + left_out


def _read(file: BinaryIO, longest_bytes: int) -> Iterator[bytes]:
    """Yield the lines of a file, to its end or until a signal asks to end.

    Of a line that is too long to be stored it reads just enough to know that, to save memory.
    """
    try:
        while True:
            with interruptible_wait():
                line = file.readline(longest_bytes + 1)
            if not line:
                return
            yield line
    except KeyboardInterrupt:
        return


def _lines(
    lines: Iterator[bytes], longest_bytes: int, key_of: KeyOf, null: bytes | None
) -> Iterator[Line]:
    for number, line in enumerate(lines, 1):
        line = line.removesuffix(b"\n")
        key, value = key_of(line)
        yield Line(number, key, None if value == null else value, len(line) > longest_bytes)


def _refuse_what_cannot_be_stored(topic: Topic, line: Line) -> None:
    """Raise now what the append of a whole batch would."""
    if line.value is None and not topic.dialect.has_value_length:
        raise NullValueError(topic.dialect.name)
    size_bytes = encoded_bytes(topic.dialect, line.key, line.value)
    topic.settings.check_message(size_bytes, is_at_least=line.is_cut)
