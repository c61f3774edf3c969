"""The way down of a line: from the client to the bytes of a segment and its index.

Each function adds the steps of one part. Source: S0 7, S1 5.2, S2; docs/life-of-a-message.md.
"""

from kminilog.course.steps.consumer.journey_questions import what_the_batch_says, who_chooses
from kminilog.course.steps.consumer.travel import SETTINGS, TOPIC, Line, Travel
from kminilog.course.steps.document import Field, Range, Table, Value
from kminilog.course.steps.recording import Recording
from kminilog.course.steps.segment.partition import add_index, add_log, message_ends
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.hashing import murmur2, to_positive
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, decode_entries, is_due
from kminilog.text import count, shown

_LINE, _BATCH = "line", "batch"
SHOWN_BYTES = 60


def add_line(recording: Recording, line: Line) -> None:
    """Add the line as a file."""
    recording.file(_LINE, line.data, _line_fields(line))


def _line_fields(line: Line) -> list[Field]:
    parts = {"value": line.value}
    if line.key is not None:
        parts = {"key": line.key, "separator": line.separator, "value": line.value}
    fields, start = [], 0
    for name, data in parts.items():
        if data:
            end = start + len(data)
            fields.append(Field(_LINE, start, end, name, name, shown(data, SHOWN_BYTES)))
            start = end
    return fields


# ---- the client


def tell_client(recording: Recording, travel: Travel) -> None:
    """Tell what the source, the interceptors and the serialisers do."""
    line, sent = travel.line, travel.intercepted
    whole = [Range(_LINE, 0, len(line.data))] if line.data else []
    recording.step(
        f"A source has a line of {count(len(line.data), 'byte')}, which is to become a message of "
        f"the topic {TOPIC}.",
        focus=whole,
        values={"line": shown(line.data, SHOWN_BYTES)},
    )
    separator = shown(line.separator)
    said = f"There is no {separator} in it. So the message has no key, and the line is its value."
    if line.key is not None:
        said = f"What stands before the first {separator} is the key, the rest is the value."
    recording.step(
        said,
        focus=whole,
        values={"key": shown(line.key, SHOWN_BYTES), "value": shown(line.value, SHOWN_BYTES)},
    )
    recording.step(
        "Interceptors see the record first, and may change it. This one puts the time in front of "
        "the value, in ms.",
        values={"key": _of_object(sent.key), "value": _of_object(sent.value)},
    )
    rows: list[tuple[Value, ...]] = []
    for name, given in (("key", sent.key), ("value", sent.value)):
        size = f"{len(given)} characters" if isinstance(given, str) else "bytes"
        data = _bytes_of(given)
        rows.append((name, "none" if data is None else size, "" if data is None else len(data)))
    recording.step(
        "Serialisers make bytes of them; a text becomes UTF-8. From here on nobody knows what the "
        "bytes mean, and everybody counts bytes.",
        values={"key": _of_object(sent.key), "value": _of_object(sent.value)},
        tables=[Table("serialised", ("part", "before", "bytes"), tuple(rows))],
    )


def tell_partition(recording: Recording, travel: Travel, partitions: int) -> None:
    """Tell how the partition is chosen."""
    partition, key = travel.place.partition, _bytes_of(travel.intercepted.key)
    values: dict[str, Value] = {"partitions": partitions}
    said = (
        "Without a key any partition will do. The partitioner stays with one until its batch is "
        f"full: here {TOPIC}-{partition}."
    )
    if key is not None:
        positive = to_positive(murmur2(key))
        values |= {"murmur2": murmur2(key), "to_positive": positive}
        said = (
            f"The partitioner hashes the key by murmur2, and clears the sign bit: {positive} % "
            f"{partitions} = {partition}. Each message with this key goes to {TOPIC}-{partition}, "
            "as long as the number of partitions stays the same."
        )
    recording.step(
        said, ask=who_chooses(has_key=key is not None), values={**values, "partition": partition}
    )


def tell_batch(recording: Recording, travel: Travel) -> None:
    """Tell what a batch is, and show its bytes."""
    ends = message_ends(KAFKA, travel.request)
    alike = "without a key" if travel.line.key is None else "with the same key"
    slot, ours = len(ends) - 1, Range(_BATCH, ends[-2], ends[-1])
    add_log(recording, _BATCH, KAFKA, travel.request)
    recording.step(
        f"The record waits in a batch for {TOPIC}-{travel.place.partition}, in memory: send has "
        "returned, but a crash would lose it. It is bytes already, in the layout of Kafka's "
        f"clients. Another record {alike} came before it.",
        ask=what_the_batch_says(slot, travel.place.offset),
        focus=[ours],
        values={"records": len(ends), "offset in the batch": slot, "batch bytes": ends[-1]},
    )


# ---- the log


def tell_segment(recording: Recording, travel: Travel, dialect: Dialect) -> None:
    """Tell how the leader writes the message, and show its bytes."""
    segment, located = travel.found
    name, place, records = segment.log_path.name, travel.place, 2
    first = place.offset - records + 1
    add_log(recording, name, dialect, travel.log, is_shown=False)
    recording.show(name, travel.log_before_bytes)
    recording.step(
        f"The batch goes to the leader of {TOPIC}-{place.partition}. The log ends with offset "
        f"{first - 1}, so the records of the batch get {first} and {place.offset}."
        if first
        else f"The batch goes to the leader of {TOPIC}-{place.partition}. The log is empty, so the "
        f"records of the batch get offsets {first} and {place.offset}.",
        values={"log end offset": first, "log bytes": travel.log_before_bytes},
    )
    recording.hide(_BATCH)
    recording.show(name)
    ours = Range(name, located.position, located.position + located.message.length_bytes)
    recording.step(
        f"The leader writes the message after the last one, with its offset, in the dialect of "
        f"the topic: {count(located.message.length_bytes, 'byte')} from byte {located.position} "
        "on. Nothing in the file is ever changed; it only grows.",
        focus=[ours],
        values={"dialect": dialect.name, "offset": place.offset, "position": located.position},
    )
    recording.step(
        "The producer hears where the record is. Its callback and the interceptors are told, and "
        "the memory of the batch is free again.",
        values={"topic": place.topic, "partition": place.partition, "offset": place.offset},
    )


def tell_index(recording: Recording, travel: Travel) -> None:
    """Tell if the message gets an index entry."""
    segment, located = travel.found
    name, interval = segment.index.path.name, SETTINGS.index_interval_bytes
    entries = decode_entries(travel.entries)
    before = [entry.position for entry in entries if entry.position < located.position]
    last = before[-1] if before else 0
    distance, slot = located.position - last, len(before)
    add_index(recording, name, travel.entries)
    since = "the message of the last entry" if before else "the beginning of the .log"
    has_entry = is_due(located.position, last, interval)
    said = f"not above index.interval.bytes = {interval}. So the message gets no index entry."
    if has_entry:
        said = f"above index.interval.bytes = {interval}. So the message gets an index entry."
    at = Range(name, slot * ENTRY_SIZE_BYTES, (slot + 1) * ENTRY_SIZE_BYTES)
    recording.step(
        f"From {since} it is {located.position} − {last} = {distance} bytes, {said}",
        focus=[at] if has_entry else [],
        values={"entries": len(entries), "distance": distance, "interval": interval},
        tables=[Table("index entries", ("relative offset", "position"), tuple(entries))],
    )


def _bytes_of(given: str | bytes | None) -> bytes | None:
    return given.encode() if isinstance(given, str) else given


def _of_object(given: str | bytes | None) -> str:
    return shown(_bytes_of(given), SHOWN_BYTES)
