"""Whatever producers, leaders, the cleaner and retention did: a whole partition has no fault.

A random history is written, cleaned some times as Kafka's LogCleaner does it, and cut at its start.
"""

import struct
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from kminilog.system import SystemClock
from kminilog.verification.broker_files.report import verify_broker
from tests.support.broker_files.partition_writer import (
    ABORT,
    COMMIT,
    NOBODY,
    START_MS,
    PartitionWriter,
    Producer,
    batch,
)

IDEMPOTENT, TRANSACTIONAL = (10, 11), (20, 21, 22)


class Stored(NamedTuple):
    """A batch: which of its records are left, its marker if it is one, and its index entry."""

    offset: int
    last_delta: int
    deltas: tuple[int, ...]
    producer: Producer
    leader: int
    marker: int | None = None
    entry: bytes = b""


def history(random: Random, count: int) -> tuple[list[Stored], int]:
    """Return batches, and the last stable offset."""
    batches: list[Stored] = []
    producers = {n: Producer(n, is_transactional=n in TRANSACTIONAL) for n in (10, 11, 20, 21, 22)}
    started: dict[int, int] = {}
    offset = leader = 0
    for _ in range(count):
        leader += random.random() < 0.03
        number = random.choice([-1, *producers])
        if number in started and random.random() < 0.4:
            first, kind = started.pop(number), random.choice([ABORT, COMMIT])
            if random.random() < 0.3:  # Kafka 4: each transaction has an epoch of its own
                producers[number] = Producer(number, producers[number].epoch + 1, 0, True)
            stable = min(started.values(), default=offset + 1)
            entry = struct.pack(">hqqqq", 0, number, first, offset, stable)
            writer = producers[number]._replace(sequence=-1)
            entry = entry if kind == ABORT else b""
            batches.append(Stored(offset, 0, (0,), writer, leader, kind, entry))
            offset += 1
            continue
        size = random.randint(1, 4)
        producer = producers.get(number, NOBODY)
        batches.append(Stored(offset, size - 1, tuple(range(size)), producer, leader))
        if number in producers:
            producers[number] = producer.after(size)
        if number in TRANSACTIONAL:
            started.setdefault(number, offset)
        offset += size
    return batches, min(started.values(), default=offset)


def cleaned(batches: Sequence[Stored], end: int, random: Random) -> list[Stored]:
    """Return what compaction leaves of the batches below `end`. It keeps the last of a producer."""
    last_of = {one.producer.number: one.offset for one in batches}
    last_data_of = {one.producer.number: one.offset for one in batches if one.marker is None}
    fates: dict[int, int | None] = {}  # of a batch, by its offset
    markers: dict[int, int] = {}
    for one in reversed(batches):
        fates[one.offset] = markers.get(one.producer.number)
        if one.marker is not None:
            markers[one.producer.number] = one.marker
    left, is_seen = [], set()  # producers with a batch since their last marker
    for one in batches:
        number = one.producer.number
        is_last = number >= 0 and one.offset in (last_of[number], last_data_of.get(number))
        if one.offset + one.last_delta >= end:
            left.append(one)
        elif one.marker is not None:
            if number in is_seen:
                is_seen.remove(number)
                left.append(one)
            elif random.random() < 0.3:  # too early to delete it
                left.append(one._replace(entry=b""))
            elif is_last:
                left.append(one._replace(entry=b"", deltas=()))
        else:
            is_aborted = number in TRANSACTIONAL and fates[one.offset] == ABORT
            if number in TRANSACTIONAL:
                is_seen.add(number)
            deltas = [delta for delta in one.deltas if not is_aborted and random.random() < 0.6]
            if deltas or is_last:
                left.append(one._replace(deltas=tuple(deltas)))
    return left


def write(log_dir: Path, batches: Sequence[Stored], next_offset: int) -> PartitionWriter:
    start = batches[0].offset
    writer = PartitionWriter(log_dir, start=start, segment_bytes=700, interval_bytes=200)
    for one in batches:
        key = b"key" if one.marker is None else struct.pack(">hh", 0, one.marker)
        records = [(key, struct.pack(">hi", 0, 3))] * len(one.deltas)
        data = batch(
            one.offset,
            [*records],
            epoch=one.leader,
            timestamp=START_MS + 10 * one.offset,
            producer=one.producer,
            is_control=one.marker is not None,
            deltas=[*one.deltas],
            last_delta=one.last_delta,
            max_timestamp=None if records else START_MS,
        )
        writer.append_bytes(data)
        if one.entry:
            with writer.path(".txnindex").open("ab") as file:
                file.write(one.entry)
    writer.offset = next_offset
    return writer


@pytest.mark.parametrize("seed", range(40))
def test_verify_of_a_history_of_all_that_happens_finds_nothing(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    batches, stable = history(random, random.randint(5, 120))
    next_offset, cleaned_until = batches[-1].offset + batches[-1].last_delta + 1, 0
    passes = random.randrange(4)
    for _ in range(passes):
        ends = [one.offset for one in batches if cleaned_until <= one.offset <= stable]
        cleaned_until = random.choice(ends or [cleaned_until])
        batches = cleaned(batches, cleaned_until, random)
    if random.random() < 0.3:
        batches = batches[random.randrange(len(batches)) :]
    writer = write(tmp_path / "broker", batches, next_offset)
    if passes:
        writer.checkpoint("cleaner-offset-checkpoint", cleaned_until)
    writer.close()
    report = verify_broker(writer.log_dir, clock=SystemClock(), full=True, strict_index=True)
    assert {one.value for one in report.tally.counts()} <= {"open-transaction"}, report.to_text()
