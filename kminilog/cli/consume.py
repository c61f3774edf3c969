"""`kminilog consume`: the messages of one topic or of several, from an offset on, and what follows.

Reads each partition in turn, in pieces of fetch.max.bytes, and looks again ten times a second at
the end. It ends after `--max-messages`, or when nothing has come for consumer.timeout.ms, with exit
code 0 both times. Order holds inside a partition only. Groups are still to come. Source: S3;
Kafka: ConsoleConsumer, ConsumerIterator.
"""

import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from kminilog.cli.options import config_option, json_option, to_offset
from kminilog.cli.output import bytes_field, flush, write_bytes, write_record
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.settings import SETTINGS, parse_config
from kminilog.storage.log_dir import LogDir
from kminilog.storage.partition_reader import PartitionReader
from kminilog.storage.topics import Topic

_SECONDS_BETWEEN_LOOKS = 0.1


def _to_start(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    return value if value in ("earliest", "latest") else to_offset(ctx, param, value)


@click.command("consume")
@click.argument("topic", required=False)
@click.option("--pattern", metavar="REGEX", help="All topics whose whole name matches REGEX.")
@click.option("--partition", type=int, metavar="P", help="Only partition P.")
@click.option(
    "--offset",
    "start",
    default="earliest",
    show_default=True,
    callback=_to_start,
    metavar="N|earliest|latest",
    help="Where to begin; a number needs --partition unless there is only one.",
)
@click.option("--max-messages", type=click.IntRange(min=0), metavar="N", help="End after N.")
@click.option("--print-key", is_flag=True, help="Key, tab, value instead of just the value.")
@config_option("A setting of the consumer, e.g. consumer.timeout.ms=1000; repeatable.")
@json_option
@click.pass_obj
def command(
    log_dir_path: Path,
    topic: str | None,
    pattern: str | None,
    partition: int | None,
    start: int | str,
    max_messages: int | None,
    print_key: bool,
    config: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print the messages of TOPIC, and wait for more."""
    settings = parse_config(config, scope="consumer")
    log_dir = LogDir(log_dir_path)
    partitions = _partitions(_topics(log_dir, topic, pattern), partition)
    if isinstance(start, int) and len(partitions) > 1:
        raise click.UsageError("an offset belongs to one partition: name it with --partition")
    positions = _positions([log_dir.reader(found) for found in partitions], start)
    written = 0
    for reader, message in _messages(positions, settings):
        if written == max_messages:
            break
        if message is None:
            flush()
            continue
        _write(reader.topic_partition, message, as_json=as_json, print_key=print_key)
        written += 1


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


def _positions(
    readers: Iterable[PartitionReader], start: int | str
) -> list[tuple[PartitionReader, int]]:
    """Return the readers, each with the offset that is to be read next."""
    if isinstance(start, int):
        return [(reader, start) for reader in readers]
    if start == "latest":
        return [(reader, reader.log_end_offset) for reader in readers]
    return [(reader, reader.log_start_offset) for reader in readers]


def _messages(
    positions: list[tuple[PartitionReader, int]], settings: dict[str, int]
) -> Iterator[tuple[PartitionReader, Message | None]]:
    """Yield messages as they come, and None after each round over the partitions."""
    fetch_bytes = settings.get("fetch.max.bytes", SETTINGS["fetch.max.bytes"].default)
    timeout_ms = settings.get("consumer.timeout.ms", SETTINGS["consumer.timeout.ms"].default)
    last_message = time.monotonic()
    while True:
        has_message = False
        for slot, (reader, offset) in enumerate(positions):
            for message in reader.read(offset, fetch_bytes):
                has_message = True
                yield reader, message
                positions[slot] = reader, message.offset + 1
        yield positions[0][0], None
        if has_message:
            last_message = time.monotonic()
            continue
        idle_ms = (time.monotonic() - last_message) * 1000
        if 0 <= timeout_ms <= idle_ms:
            return
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _write(partition: TopicPartition, message: Message, *, as_json: bool, print_key: bool) -> None:
    if as_json:
        fields = {**bytes_field("key", message.key), **bytes_field("value", message.value)}
        write_record({**partition._asdict(), "offset": message.offset, **fields})
        return
    parts = [message.key, message.value] if print_key else [message.value]
    write_bytes(b"\t".join(b"null" if part is None else part for part in parts))
