"""Changes of a log and of its source, and what a verification has to say of each.

Nothing of kminilog is here. A change is made in one place: in partition `p`, and if it needs two,
in `q`, too. What is expected is stated by who makes the change. A `Finding` has a class, a
partition, an offset and a record of the source. Only findings that come from no other one are
listed; a message with a wrong crc is one of these, the record that is missing then is not. But it
counts in the equation, so `Expected` says that, too.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from tests.support.verification.account.tamperer import (
    ENTRY,
    LogFiles,
    Message,
    Record,
    SourceFile,
    keys_of,
)

RANGE = 5
"""How many messages have a fingerprint together; 16,384 if no test changes that."""


class Finding(NamedTuple):
    kind: str
    partition: int
    offset: int | None
    record: Record | None = None


@dataclass
class Expected:
    """What comes from no other finding, and the terms of the equation that are not 0."""

    findings: list[Finding] = field(default_factory=list)
    missing: int = 0
    extra: int = 0
    duplicate: int = 0
    altered: int = 0

    def __add__(self, other: "Expected") -> "Expected":
        return Expected(
            self.findings + other.findings,
            self.missing + other.missing,
            self.extra + other.extra,
            self.duplicate + other.duplicate,
            self.altered + other.altered,
        )


@dataclass
class Spot:
    """Where a change is made. `number` chooses the segment, and the kind of some changes."""

    log: LogFiles
    source: SourceFile
    p: int
    q: int
    number: int

    @property
    def segment(self) -> list[Message]:
        """A segment that has a message with a key inside."""
        segments = [s for s in self.log.segments[self.p] if any(m.key for m in s[1:-1])]
        return segments[self.number % len(segments)]

    @property
    def middle_slot(self) -> int:
        """The number of a segment that is neither the first nor the last one."""
        count = len(self.log.segments[self.p])
        assert count > 2
        return 1 + self.number % (count - 2)

    @property
    def message(self) -> Message:
        """A message with a key that is neither the first nor the last one of its segment."""
        return next(message for message in self.segment[1:-1] if message.key)

    def offset(self, message: Message) -> int:
        return self.log.offset(self.p, message)

    def here(self, kind: str, message: Message, *, line: bool = True) -> Finding:
        """Return a finding at a message of `p`, with its record if there is a line to name."""
        record = message.record if line else None
        return Finding(kind, self.p, self.offset(message), record)


def lost(*messages: Message, p: int) -> Expected:
    """Return what is expected if nothing else in the log shows the loss."""
    findings = [Finding("missing", p, None, message.record) for message in messages]
    return Expected(findings, missing=len(messages))


# ---- the log: changes of a value, a key, attributes


def value_bit_with_crc(spot: Spot) -> Expected:
    message = spot.message
    at = spot.number % len(message.value)
    value = bytearray(message.value)
    value[at] ^= 1 << spot.number % 8
    message.value = bytes(value)
    spot.log.write(spot.p)
    return Expected([spot.here("altered", message)], altered=1)


def value_bit(spot: Spot) -> Expected:
    message = spot.message
    there = spot.log.bytes_of(spot.p, message)
    spot.log.change(spot.p, message, len(there) - 1, bytes([message.value[-1] ^ 4]))
    return Expected([spot.here("bad-crc", message, line=False)], missing=1)


def value_emptied(spot: Spot) -> Expected:
    message = spot.message
    message.value = b""
    spot.log.write(spot.p)
    return Expected([spot.here("altered", message)], altered=1)


def key_altered(spot: Spot) -> Expected:
    """To a key of the same partition, or of another one: the key that is there is not its own."""
    message = spot.message
    target = (spot.p, spot.q)[spot.number % 2]
    (message.key,) = keys_of(target, spot.source.partitions, 1, start=50_000)
    spot.log.write(spot.p)
    return Expected([spot.here("altered", message)], altered=1)


def attribute_bit(spot: Spot) -> Expected:
    """No source has attributes: the job's fingerprint of the range is all that shows it."""
    message = spot.message
    message.attributes = 0x08 << spot.number % 4
    spot.log.write(spot.p)
    offset = spot.offset(message)
    return Expected([Finding("altered", spot.p, offset - offset % RANGE)])


def magic(spot: Spot) -> Expected:
    """With a right crc."""
    message = spot.message
    data = bytearray(spot.log.encode(spot.offset(message), message)[12:])
    data[4] = 1 + spot.number % 2
    data[:4] = struct.pack(">I", zlib.crc32(data[4:]))
    spot.log.change(spot.p, message, 12, bytes(data))
    return Expected([spot.here("bad-magic", message, line=False)], missing=1)


def length_field(spot: Spot) -> Expected:
    """The size, or the length of the key; with the crc as it was."""
    message = spot.message
    size = len(spot.log.bytes_of(spot.p, message)) - 12
    at, wrong = ((8, size + 1), (8, size - 2), (8, -1), (8, 1 << 20), (18, 1 << 20))[
        spot.number % 5
    ]
    spot.log.change(spot.p, message, at, struct.pack(">i", wrong))
    return Expected([spot.here("bad-length", message, line=False)], missing=1)


# ---- the log: changes of what is there


def dropped(spot: Spot) -> Expected:
    message = spot.message
    spot.segment.remove(message)
    spot.log.write(spot.p)
    return lost(message, p=spot.p)


def dropped_with_gap(spot: Spot) -> Expected:
    """The bytes are gone, and all else is as it was; or the index is made anew."""
    message, segment = spot.message, spot.segment
    numbered = [(spot.offset(m), m) for m in segment if m is not message]
    path, there = spot.log.log_with(spot.p, message), spot.log.bytes_of(spot.p, message)
    finding = Finding("offset-gap", spot.p, spot.offset(message) + 1)
    if spot.number % 2:
        spot.log.write_segment(spot.p, int(path.stem), numbered)
    else:
        data = path.read_bytes()
        path.write_bytes(data[: there.start] + data[there.stop :])
    return Expected([finding], missing=1)


def written_twice(spot: Spot) -> Expected:
    message = spot.message
    copy = Message(message.key, message.value, message.record)
    spot.segment.insert(spot.segment.index(message) + 1, copy)
    spot.log.write(spot.p)
    return Expected([spot.here("duplicate", copy)], duplicate=1)


def _exchange(spot: Spot, one: Message, other: Message) -> None:
    for name in ("key", "value", "record", "attributes"):
        mine, its = getattr(one, name), getattr(other, name)
        setattr(one, name, its)
        setattr(other, name, mine)
    spot.log.write(spot.p)


def swapped_of_one_key(spot: Spot) -> Expected:
    messages = spot.log.messages(spot.p)
    pairs = [
        (one, next(m for m in messages[slot + 1 :] if m.key == one.key))
        for slot, one in enumerate(messages)
        if one.key and any(m.key == one.key for m in messages[slot + 1 :])
    ]
    one, other = pairs[spot.number % len(pairs)]
    _exchange(spot, one, other)
    return Expected([spot.here("key-order", other)])


def moved_ahead(spot: Spot) -> Expected:
    """The last message of a key to the front of all: its first one is then the late one."""
    same = [m for m in spot.log.messages(spot.p) if m.key == spot.message.key]
    spot.log.segment_of(spot.p, same[-1]).remove(same[-1])
    spot.log.segments[spot.p][0].insert(0, same[-1])
    spot.log.write(spot.p)
    return Expected([spot.here("key-order", same[0])])


def swapped_of_two_keys(spot: Spot) -> Expected:
    """Order counts for each key only; so the job's fingerprints are all that shows which two."""
    pairs = pairwise(spot.log.messages(spot.p))
    both = [(one, other) for one, other in pairs if one.key != other.key]
    one, other = both[spot.number % len(both)]
    _exchange(spot, one, other)
    return Expected([Finding("altered", spot.p, spot.offset(one))])


def moved(spot: Spot) -> Expected:
    message = spot.message
    spot.segment.remove(message)
    segments = spot.log.segments[spot.q]
    segments[spot.number % len(segments)].insert(1, message)
    spot.log.write(spot.p, spot.q)
    offset = spot.log.offset(spot.q, message)
    return Expected([Finding("wrong-partition", spot.q, offset, message.record)])


def invented(spot: Spot) -> Expected:
    message = Message(spot.message.key, b"invented", None)
    spot.segment.insert(1, message)
    spot.log.write(spot.p)
    return Expected([spot.here("extra", message)], extra=1)


def partitions_exchanged(spot: Spot) -> Expected:
    """What has no key may stand anywhere; that is all the same to who reads."""
    p, q = spot.log.directory(spot.p), spot.log.directory(spot.q)
    aside = p.with_name("aside")
    p.rename(aside)
    q.rename(p)
    aside.rename(q)
    for was, there in ((spot.p, spot.q), (spot.q, spot.p)):
        spot.log.record_end(there, len(spot.log.messages(was)))
    return Expected(
        [
            Finding("wrong-partition", there, spot.log.offset(was, message), message.record)
            for was, there in ((spot.p, spot.q), (spot.q, spot.p))
            for message in spot.log.messages(was)
            if message.key
        ]
    )


# ---- the log: ends and whole files


def torn_tail(spot: Spot) -> Expected:
    message = spot.log.messages(spot.p)[-1]
    path, there = spot.log.log_with(spot.p, message), spot.log.bytes_of(spot.p, message)
    left = (there.start + 5, there.stop - 1, there.start + 20)[spot.number % 3]
    path.write_bytes(path.read_bytes()[:left])
    return Expected([spot.here("torn-tail", message, line=False)], missing=1)


def last_message_cut(spot: Spot) -> Expected:
    message = spot.log.messages(spot.p)[-1]
    path, there = spot.log.log_with(spot.p, message), spot.log.bytes_of(spot.p, message)
    path.write_bytes(path.read_bytes()[: there.start])
    index = path.with_suffix(".index")
    if spot.number % 2:  # an entry for it is gone, too
        entries = [*ENTRY.iter_unpack(index.read_bytes())]
        kept = [entry for entry in entries if entry[1] < there.start]
        index.write_bytes(b"".join(ENTRY.pack(*entry) for entry in kept))
    spot.log.record_end(spot.p, spot.offset(message))
    return lost(message, p=spot.p)


def last_segment_deleted(spot: Spot) -> Expected:
    _delete(spot, -1)
    gone = spot.log.segments[spot.p][-1]
    spot.log.record_end(spot.p, spot.offset(gone[0]))
    return lost(*gone, p=spot.p)


def last_segment_deleted_behind_recovery_point(spot: Spot) -> Expected:
    """A recovery point says that the messages were on the disk."""
    _delete(spot, -1)
    gone = spot.log.segments[spot.p][-1]
    return Expected([spot.here("lost-end", gone[0], line=False)], missing=len(gone))


def middle_segment_deleted(spot: Spot) -> Expected:
    slot = spot.middle_slot
    _delete(spot, slot)
    gone, behind = spot.log.segments[spot.p][slot : slot + 2]
    return Expected([spot.here("offset-gap", behind[0], line=False)], missing=len(gone))


def _delete(spot: Spot, slot: int) -> None:
    path = spot.log.logs(spot.p)[slot]
    path.unlink()
    path.with_suffix(".index").unlink()


def segment_renamed(spot: Spot) -> Expected:
    """To a neighbouring offset, or to one far after all others."""
    path = spot.log.logs(spot.p)[spot.middle_slot]
    other = int(path.stem) + (1, 100_000)[spot.number % 2]
    for suffix in (".log", ".index"):
        path.with_suffix(suffix).rename(path.with_name(f"{other:020}{suffix}"))
    first = spot.log.segments[spot.p][spot.middle_slot][0]
    return Expected([spot.here("name-base-mismatch", first, line=False)])


def index_deleted(spot: Spot) -> Expected:
    spot.log.log_with(spot.p, spot.message).with_suffix(".index").unlink()
    return Expected([Finding("index-sparse", spot.p, None)])


def index_entry(spot: Spot) -> Expected:
    """An entry points one message too far, or one byte."""
    path = spot.log.log_with(spot.p, spot.message)
    index = path.with_suffix(".index")
    entries = [*ENTRY.iter_unpack(index.read_bytes())]
    slot = spot.number // 2 % len(entries)
    relative, position = entries[slot]
    size = struct.unpack_from(">i", path.read_bytes(), position + 8)[0] + 12
    is_last = position + size == path.stat().st_size
    entries[slot] = relative, position + (1 if spot.number % 2 or is_last else size)
    index.write_bytes(b"".join(ENTRY.pack(*entry) for entry in entries))
    return Expected([Finding("index-position", spot.p, int(path.stem) + relative)])


def index_torn(spot: Spot) -> Expected:
    index = spot.log.log_with(spot.p, spot.message).with_suffix(".index")
    index.write_bytes(index.read_bytes()[: -1 - spot.number % 7])
    return Expected([Finding("index-order", spot.p, None)])


def index_shortened(spot: Spot) -> Expected:
    """By a whole entry: a broker may have left it out, kminilog has not."""
    path = spot.log.log_with(spot.p, spot.message).with_suffix(".index")
    data = path.read_bytes()
    path.write_bytes(data[:-8])
    relative, _ = ENTRY.unpack(data[-8:])
    sparse = Finding("index-sparse", spot.p, int(path.stem) + relative)
    return Expected([] if spot.log.is_kafkas else [sparse])


# ---- the source


def record_added_at_the_end(spot: Spot) -> Expected:
    (key,) = keys_of(spot.p, spot.source.partitions, 1)
    return _added(spot, len(spot.source.records), key)


def record_added_in_the_middle(spot: Spot) -> Expected:
    message = spot.message
    assert message.record
    return _added(spot, spot.source.records.index(message.record), message.key)


def _added(spot: Spot, slot: int, key: bytes | None) -> Expected:
    record = spot.source.record(key)
    spot.source.records.insert(slot, record)
    return Expected([Finding("missing", spot.p, None, record)], missing=1)


def record_removed(spot: Spot) -> Expected:
    message = spot.message
    assert message.record
    spot.source.records.remove(message.record)
    return Expected([spot.here("extra", message, line=False)], extra=1)


def record_with_another_value(spot: Spot) -> Expected:
    message = spot.message
    assert message.record
    message.record.value += b"!"
    return Expected([spot.here("altered", message)], altered=1)


def record_with_another_key(spot: Spot) -> Expected:
    """By its new key it belongs elsewhere, where nothing is; what is here has no record."""
    message = spot.message
    record = message.record
    assert record
    assert record.key
    (key,) = keys_of(spot.q, spot.source.partitions, 1, start=50_000)
    record.value = record.value.replace(record.key, key)
    record.key = key
    there = Finding("missing", spot.q, None, record)
    return Expected([there, spot.here("extra", message, line=False)], missing=1, extra=1)


def records_of_one_key_exchanged(spot: Spot) -> Expected:
    messages = [m for m in spot.log.messages(spot.p) if m.key == spot.message.key]
    slot = spot.number % (len(messages) - 1)
    first, second = messages[slot].record, messages[slot + 1].record
    assert first
    assert second
    records = spot.source.records
    one, other = records.index(first), records.index(second)
    records[one], records[other] = second, first
    return Expected([spot.here("key-order", messages[slot + 1])])


Change = Callable[[Spot], Expected]

LOG_CHANGES: dict[str, Change] = {
    change.__name__: change
    for change in (
        value_bit_with_crc,
        value_bit,
        value_emptied,
        key_altered,
        attribute_bit,
        magic,
        length_field,
        dropped,
        dropped_with_gap,
        written_twice,
        swapped_of_one_key,
        moved_ahead,
        swapped_of_two_keys,
        moved,
        invented,
        partitions_exchanged,
        torn_tail,
        last_message_cut,
        last_segment_deleted,
        last_segment_deleted_behind_recovery_point,
        middle_segment_deleted,
        segment_renamed,
        index_deleted,
        index_entry,
        index_torn,
        index_shortened,
    )
}
SOURCE_CHANGES: dict[str, Change] = {
    change.__name__: change
    for change in (
        record_added_at_the_end,
        record_added_in_the_middle,
        record_removed,
        record_with_another_value,
        record_with_another_key,
        records_of_one_key_exchanged,
    )
}
CHANGES = LOG_CHANGES | SOURCE_CHANGES
