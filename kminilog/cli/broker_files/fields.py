"""Batches and records of a broker as JSON fields, and as parts of a line.

The fields that `dump` and `consume` have for format v0 keep their names; those that only later
formats have are added. A timestamp that format v0 does not store is null.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import click

from kminilog.broker_files.entries import RecordBatch
from kminilog.broker_files.message_set import LegacyMessage
from kminilog.broker_files.record import NO_TIMESTAMP, Record
from kminilog.broker_files.record_batch import BatchHeader, ControlRecord, control_record
from kminilog.cli.shared.message_fields import key_and_value, message_json
from kminilog.format.message import Message
from kminilog.json_fields import bytes_field
from kminilog.text import Span, shown

no_gaps_option = click.option(
    "--allow-gaps",
    is_flag=True,
    expose_value=False,
    help="Changes nothing: gaps are no damage here.",
)
Command = TypeVar("Command", bound=Callable[..., Any])
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def refused_option(flag: str, why: str, **options: Any) -> Callable[[Command], Command]:
    """Return an option that the command of the same name has elsewhere; it is refused here."""

    def refuse(ctx: click.Context, param: click.Parameter, value: object) -> None:
        if value:
            raise click.UsageError(f"no {flag} in a Kafka broker's directory: {why}")

    return click.option(
        flag, hidden=True, expose_value=False, callback=refuse, **(options or {"is_flag": True})
    )


def time_text(timestamp: int) -> str:
    """Return milliseconds since 1970 as a date and a time of day, UTC.

    >>> time_text(1_700_000_000_005)
    '2023-11-14T22:13:20.005Z'
    >>> time_text(2**62)
    '4611686018427387904'
    """
    try:
        moment = _EPOCH + timedelta(milliseconds=timestamp)
    except OverflowError:
        return str(timestamp)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def batch_json(batch: RecordBatch) -> dict[str, Any]:
    """Return a batch, or a message of format v0 or v1, as `dump --json` prints it."""
    fields = batch.fields
    if isinstance(fields, LegacyMessage):
        time = {} if fields.magic == 0 else {"timestamp": fields.timestamp}
        return {
            **message_json(batch.position, as_message(fields)),
            "codec": batch.codec,
            **time,
            **({"timestamp_type": batch.timestamp_type} if time else {}),
        }
    return {
        "base_offset": fields.base_offset,
        "last_offset": batch.last_offset,
        "count": fields.record_count,
        "position": batch.position,
        "size": fields.length,
        "crc": fields.crc,
        "valid": True,
        "magic": fields.magic,
        "attributes": fields.attributes,
        "codec": batch.codec,
        "timestamp_type": batch.timestamp_type,
        "base_timestamp": fields.base_timestamp,
        "max_timestamp": fields.max_timestamp,
        "leader_epoch": fields.partition_leader_epoch,
        "producer_id": fields.producer_id,
        "producer_epoch": fields.producer_epoch,
        "base_sequence": fields.base_sequence,
        "transactional": fields.is_transactional,
        "control": fields.is_control,
    }


def record_json(batch: RecordBatch, record: Record) -> dict[str, Any]:
    """Return a record with what its batch says of it; a plain message of v0 as it is stored."""
    fields = batch.fields
    stored: dict[str, Any] = {"offset": record.offset, "position": batch.position}
    if isinstance(fields, LegacyMessage) and batch.codec == "none":
        stored = message_json(batch.position, as_message(fields))
    return {
        **stored,
        "magic": batch.magic,
        "codec": batch.codec,
        **timed_json(batch, record),
        **bytes_field("key", record.key),
        **bytes_field("value", record.value),
        **producer_json(batch, record),
    }


def timed_json(batch: RecordBatch, record: Record) -> dict[str, Any]:
    """Return the timestamp and the headers of a record."""
    return {
        "timestamp": None if record.timestamp == NO_TIMESTAMP else record.timestamp,
        "timestamp_type": batch.timestamp_type,
        "headers": [{"key": key, **bytes_field("value", value)} for key, value in record.headers],
    }


def producer_json(batch: RecordBatch, record: Record) -> dict[str, Any]:
    """Return who wrote a record, as far as its format says; nothing for formats v0 and v1."""
    header = batch.fields
    if not isinstance(header, BatchHeader):
        return {}
    marker = control_record(record) if header.is_control else None
    return {
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "sequence": record.sequence,
        "transactional": header.is_transactional,
        "control": header.is_control,
        **({"control_type": marker.type} if isinstance(marker, ControlRecord) else {}),
    }


def as_message(message: LegacyMessage) -> Message:
    """Return a message of format v0 or v1 without its timestamp."""
    return Message(
        message.offset,
        message.size,
        message.crc,
        message.magic,
        message.attributes,
        message.key,
        message.value,
    )


def record_parts(batch: RecordBatch, record: Record, columns: int) -> tuple[Span | str, ...]:
    """Return a record for a line: its time, key and value, headers; key and value are cut."""
    time = "" if record.timestamp == NO_TIMESTAMP else f"{time_text(record.timestamp)}, "
    if isinstance(batch.fields, BatchHeader) and batch.fields.is_control:
        marker = control_record(record)
        said = marker.type if isinstance(marker, ControlRecord) else marker.detail
        return time, f"control record: {said}"
    headers = ", ".join(f"{key}={shown(value)}" for key, value in record.headers)
    more = f", headers {headers}" if headers else ""
    return time, *key_and_value(record, columns - len(time)), more
