"""`find` in a Kafka broker's log directory: one record, by its offset or by a time."""

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import click

from kminilog.broker_files.directory import BrokerDirectory
from kminilog.broker_files.partition import BrokerPartition, FoundRecord, StoredRecord
from kminilog.cli.broker_files.fields import (
    no_gaps_option,
    record_json,
    record_parts,
    refused_option,
    time_text,
)
from kminilog.cli.shared.found_places import place_lines, probes_json
from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import (
    NegativeOffset,
    example,
    json_option,
    key_option,
    to_offset,
    topic_partition_of,
)
from kminilog.cli.shared.output import show, warn, write_lines, write_record
from kminilog.explain.recorded_search import Trace
from kminilog.format.names import TopicPartition, parse_topic_partition
from kminilog.text import count, shown

_NONE_FOUND = 1


def to_time(text: str) -> int:
    """Return milliseconds since 1970; a time without a zone is UTC."""
    if text.isascii() and text.isdigit():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        what = "write milliseconds since 1970, or a time like 2026-01-31T12:00:00Z"
        raise click.BadParameter(f"{text!r} is no time: {what}") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


@click.command("find", cls=NegativeOffset, epilog=example("kminilog find orders-0 7"))
@click.argument("where", metavar="TOPIC-P")
@click.argument("offset", required=False, type=to_offset)
@click.option(
    "--time",
    "timestamp",
    type=to_time,
    metavar="MS|ISO",
    help="Find the first record with this timestamp or a later one.",
)
@key_option("Find all records with this key, by reading all; TOPIC-P may be a whole topic.")
@refused_option("--explain", "its steps are those of a search in messages of format v0")
@no_gaps_option
@json_option
@click.pass_obj
def command(
    path: Path,
    where: str,
    offset: int | None,
    timestamp: int | None,
    key: bytes | None,
    as_json: bool,
) -> int:
    """Find the record with OFFSET in TOPIC-P, or by --time or --key, in a broker's directory.

    Nothing is written there.
    """
    if [offset, timestamp, key].count(None) != 2:
        raise click.UsageError("give an OFFSET, a time with --time, or a key with --key")
    broker = BrokerDirectory(path)
    if key is not None:
        return _find_key(broker, where, key, as_json)
    partition = topic_partition_of(where)
    reader, trace = BrokerPartition(broker, partition), Trace()
    if timestamp is None:
        found: FoundRecord | None = reader.find(offset or 0, trace)
    else:
        found = reader.find_time(timestamp)
    if found is None:
        at = time_text(timestamp or 0)
        warn(f"{partition}: no record has a timestamp of {at} or later; format v0 stores none")
        return _NONE_FOUND
    stored = found.stored
    show(_found_json(partition, found, trace), as_json, lambda _: found_lines(partition, stored))
    return 0


def _find_key(broker: BrokerDirectory, where: str, key: bytes, as_json: bool) -> int:
    """Print the place of each record with this key; return the exit code."""
    named = parse_topic_partition(where)
    partitions = [named] if named in broker.partitions() else broker.partitions(where)
    read_count = found_count = 0
    for partition in partitions:
        reader = BrokerPartition(broker, partition)
        for stored in interruptible(reader.read(reader.log_start_offset)):
            read_count += 1
            if stored.record.key != key:
                continue
            found_count += 1
            if as_json:
                write_record(
                    {
                        **partition._asdict(),
                        "offset": stored.record.offset,
                        "segment": stored.segment.name,
                        "position": stored.batch.position,
                        "message": record_json(stored.batch, stored.record),
                    }
                )
            else:
                write_lines(found_lines(partition, stored))
    if not found_count:
        warn(f"no record of {where} has the key {shown(key)}; {count(read_count, 'record')} read")
    return 0 if found_count else _NONE_FOUND


def _found_json(partition: TopicPartition, found: FoundRecord, trace: Trace) -> dict[str, Any]:
    segment, batch, record = found.stored
    time_entry = found.time_entry
    return {
        **partition._asdict(),
        "offset": record.offset,
        "segment": segment.name,
        **probes_json(trace, segment.base_offset, found.index_entry),
        "scanned_messages": found.scanned_batches,
        "scanned_bytes": found.scanned_bytes,
        "position": batch.position,
        "time_index_entry": time_entry
        and {
            "timestamp": time_entry.timestamp,
            "offset": segment.base_offset + time_entry.relative_offset,
        },
        "message": record_json(batch, record),
    }


def found_lines(partition: TopicPartition, stored: StoredRecord) -> list[str]:
    """Return the place of a record and the record: as one line, or as two if it is long."""
    segment, batch, record = stored
    log = f"{partition}/{segment.log_path.name}"
    parts_of = partial(record_parts, batch, record)
    return place_lines(log, record.offset, batch.position, parts_of)
