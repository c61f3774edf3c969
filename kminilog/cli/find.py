"""`kminilog find`: locate one message, and with --explain show every step of the search.

The steps are those of `kminilog step find-offset`, as text, and of the search that has run.

With --key it locates all messages with a key. A log has an index of offsets and none of keys. So
that search costs one read of the partitions; if the user names a topic, of all of its partitions,
because the topic does not know its partitioner. Source: ours.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from kminilog.cli.shared.cluster_option import broker_of, topics_at
from kminilog.cli.shared.found_places import place_lines, probes_json
from kminilog.cli.shared.interrupts import check_interrupt
from kminilog.cli.shared.message_fields import key_and_value, message_json
from kminilog.cli.shared.options import (
    NegativeOffset,
    allow_gaps_option,
    example,
    json_option,
    key_option,
    to_offset,
    topic_partition_of,
)
from kminilog.cli.shared.output import (
    Broken,
    flush,
    warn,
    width,
    write_document,
    write_lines,
    write_record,
)
from kminilog.errors import OffsetOutOfRangeError, UnknownTopicOrPartitionError
from kminilog.explain.find_offset import Search, of_search
from kminilog.explain.text import render_text
from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.partition.log_ends import RecordedEnds
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.search import Found
from kminilog.text import count, shown

_READ_BYTES = 2**20


@click.command(
    "find",
    cls=NegativeOffset,
    epilog=example("kminilog find orders-0 7 --explain"),
)
@click.argument("where", metavar="TOPIC-P")
@click.argument("offset", required=False, type=to_offset)
@key_option("Find all messages with this key, by reading all; TOPIC-P may be a whole topic.")
@click.option(
    "--explain",
    "is_explained",
    is_flag=True,
    help="Show every probe of the search, and the message byte by byte.",
)
@allow_gaps_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    where: str,
    offset: int | None,
    key: bytes | None,
    is_explained: bool,
    on_gap: OnGap | None,
    as_json: bool,
) -> int:
    """Find the message with OFFSET in TOPIC-P, or all with a key."""
    if key is not None:
        if offset is not None or is_explained:
            raise click.UsageError("--key reads all messages: give no OFFSET and no --explain")
        return find_key(ctx.obj, where, key, on_gap=on_gap, as_json=as_json)
    if offset is None:
        raise click.UsageError("give an OFFSET, or a key with --key")
    partition = topic_partition_of(where)
    reader = topics_at(ctx.obj).reader(partition, on_gap=on_gap)
    _find_offset(reader, offset, broker_of(ctx.obj, partition), is_explained, as_json)
    return 0


def _find_offset(
    reader: PartitionReader, offset: int, broker: int | None, is_explained: bool, as_json: bool
) -> None:
    search = Search(reader, offset)
    try:
        found = search.run()
    except OffsetOutOfRangeError as error:
        for loss in RecordedEnds().losses(reader):
            if offset in loss.missing:
                error.add_note(loss.reason)
        if is_explained and not as_json and reader.segments():
            write_lines(render_text(of_search(search), width=width()))
        raise
    if as_json:
        where = {} if broker is None else {"broker": broker}
        write_document({**found_json(search, found), **where})
    elif is_explained:
        write_lines(render_text(of_search(search), width=width()))
    else:
        write_lines(found_lines(reader.topic_partition, found, broker))


def found_json(search: Search, found: Found) -> dict[str, Any]:
    """Return what `find --json` prints."""
    reader, segment = search.reader, found.segment
    return {
        "topic": reader.topic_partition.topic,
        "partition": reader.topic_partition.partition,
        "offset": search.offset,
        "segment": segment.name,
        **probes_json(search.trace, segment.base_offset, found.index_entry),
        "scanned_messages": found.scanned_messages,
        "scanned_bytes": found.scanned_bytes,
        "position": found.position,
        "message": message_json(found.position, found.message),
    }


# ---- by key


def find_key(path: Path, where: str, key: bytes, *, on_gap: OnGap | None, as_json: bool) -> int:
    """Print the place of each message with this key; return the exit code, 1 if there is none.

    It is 1, too, with a line on stderr, if a log has lost its start or its end. `where` is a
    partition such as orders-0, or a topic. Raises what PartitionReader.read raises.
    """
    log_dir, broken, on_record = topics_at(path), Broken(), RecordedEnds()
    read_count = found_count = 0
    for partition in _partitions(log_dir, where):
        reader, broker = log_dir.reader(partition, on_gap=on_gap), broker_of(path, partition)
        for loss in on_record.losses(reader):
            broken.lost(loss)
        for offset, is_found in _matches(reader, key):
            read_count += 1
            if is_found:
                found_count += 1
                found = reader.find(offset)
                if as_json:
                    place = {
                        **({} if broker is None else {"broker": broker}),
                        **partition._asdict(),
                        "offset": found.message.offset,
                        "segment": found.segment.name,
                        "position": found.position,
                    }
                    write_record({**place, "message": message_json(found.position, found.message)})
                else:
                    write_lines(found_lines(partition, found, broker))
    if found_count:
        return broken.exit_code
    warn(f"no message of {where} has the key {shown(key)}; {count(read_count, 'message')} read")
    return 1


def found_lines(partition: TopicPartition, found: Found, broker: int | None) -> list[str]:
    """Return the place of a message, its key and its value: as one line, or as two if it is long.

    In two lines, key and value are cut where they do not fit.
    """
    at = partition if broker is None else f"broker-{broker}/{partition}"
    log = f"{at}/{found.segment.log_path.name}"
    parts_of = partial(key_and_value, found.message)
    return place_lines(log, found.message.offset, found.position, parts_of)


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
    named = parse_topic_partition(where)
    if named:
        try:
            return [log_dir.topic(named.topic).partition(named.partition)]
        except UnknownTopicOrPartitionError:
            with suppress(UnknownTopicOrPartitionError):  # a topic may have a name like a-0
                return log_dir.topic(where).all_partitions()
            raise
    return log_dir.topic(where).all_partitions()
