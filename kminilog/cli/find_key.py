"""`kminilog find --key`: where the messages with a key are. It reads all messages, in order.

A log has an index of offsets and none of keys. So the search costs one read of the partitions; if
the user names a topic, of all of its partitions, because the topic does not know its partitioner.
Source: ours.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from kminilog.cli.interrupts import check_interrupt
from kminilog.cli.message_fields import key_and_value, message_json
from kminilog.cli.output import flush, warn, write_lines, write_record
from kminilog.cli.places import broker_of, topics_at
from kminilog.errors import UnknownTopicOrPartitionError
from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.storage.log_dir import LogDir
from kminilog.storage.notices import OnGap
from kminilog.storage.partition_reader import Found, PartitionReader
from kminilog.text import FIT_COLUMNS, Span, StyledText, columns, count, shown

_READ_BYTES = 2**20
_INDENT = "    "


def find_key(path: Path, where: str, key: bytes, *, on_gap: OnGap | None, as_json: bool) -> int:
    """Print the place of each message with this key; return the exit code, 1 if there is none.

    `where` is a partition such as orders-0, or a topic. Raises what PartitionReader.read raises.
    """
    log_dir = topics_at(path)
    read_count = found_count = 0
    for partition in _partitions(log_dir, where):
        reader, broker = log_dir.reader(partition, on_gap=on_gap), broker_of(path, partition)
        for offset, is_found in _matches(reader, key):
            read_count += 1
            if is_found:
                found_count += 1
                _write(partition, reader.find(offset), broker, as_json)
    if found_count:
        return 0
    warn(f"no message of {where} has the key {shown(key)}; {count(read_count, 'message')} read")
    return 1


def found_lines(partition: TopicPartition, found: Found, broker: int | None) -> list[str]:
    """Return the place of a message, its key and its value: as one line, or as two if it is long.

    In two lines, key and value are cut where they do not fit.
    """
    message = found.located.message
    at = partition if broker is None else f"broker-{broker}/{partition}"
    place = (
        f"{at}/{found.segment.log_path.name}, ",
        Span(f"offset {message.offset}", "offset"),
        f", byte {found.located.position}:",
    )
    line = StyledText(*place, " ", *key_and_value(message, FIT_COLUMNS))
    if columns(line) <= FIT_COLUMNS:
        return [line]
    return [
        StyledText(*place),
        StyledText(_INDENT, *key_and_value(message, FIT_COLUMNS - len(_INDENT))),
    ]


def _matches(reader: PartitionReader, key: bytes) -> Iterator[tuple[int, bool]]:
    """Yield the offset of each message, and whether it has this key."""
    offset = reader.log_start_offset
    while messages := reader.read(offset, _READ_BYTES):
        check_interrupt()
        for message in messages:
            yield message.offset, message.key == key
        flush()  # what was found is shown while the search goes on
        offset = messages[-1].offset + 1


def _partitions(log_dir: LogDir, where: str) -> list[TopicPartition]:
    """Return the partition of this name, or all partitions of the topic of this name."""
    named = parse_topic_partition(where)
    if named:
        try:
            return [log_dir.topic(named.topic).partition(named.partition)]
        except UnknownTopicOrPartitionError:
            with suppress(UnknownTopicOrPartitionError):  # a topic may have a name like a-0
                return log_dir.topic(where).all_partitions()
            raise
    return log_dir.topic(where).all_partitions()


def _write(partition: TopicPartition, found: Found, broker: int | None, as_json: bool) -> None:
    located = found.located
    if as_json:
        place = {
            **({} if broker is None else {"broker": broker}),
            **partition._asdict(),
            "offset": located.message.offset,
            "segment": found.segment.name,
            "position": located.position,
        }
        write_record({**place, "message": message_json(located.position, located.message)})
    else:
        write_lines(found_lines(partition, found, broker))
