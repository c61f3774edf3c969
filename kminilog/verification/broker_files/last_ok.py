"""What the last `ok` has seen of a broker's partitions, for `--since-last`: kept elsewhere.

    <state>/<digest of the path>.json    for each partition: its segments but the last one, each
                                         with its counts and its files; and the state after them

Nobody writes into a broker's directory, so the record stands in a directory of the user. It is
trusted if the files of all these segments are as they were: their sizes, the times of their
changes, also of the change that only the operating system notes; and if the leader epochs on record
say of these segments what they said. What retention has deleted in front is no difference. The last
segment is read again, and all that came after it. Bytes that change under that, as on a disk that
fails, are not seen.
Source: ours; `verification.last_ok` does this for a log dir of kminilog.
"""

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from kminilog.broker_files.directory import SegmentFiles
from kminilog.storage.durable_files import replacing
from kminilog.verification.broker_files.faults import BrokerFault
from kminilog.verification.broker_files.leader_epochs import BatchPlace
from kminilog.verification.broker_files.log_state import LogState
from kminilog.verification.broker_files.producers import Producers
from kminilog.verification.broker_files.segment_checks import SegmentCounts
from kminilog.verification.findings import Finding

_VERSION = 2


class SeenPartition(NamedTuple):
    """Segments that were ok, the files of each, and what they say of the segment to come."""

    counts: list[SegmentCounts]
    files: list[list[Any]]
    state: dict[str, Any]


class LastSeen(NamedTuple):
    """The record of one directory: where it stands, and what it says of partitions by name."""

    path: Path
    rules: dict[str, Any]
    partitions: dict[str, SeenPartition]

    def of(self, partition: str, segments: Sequence[SegmentFiles]) -> SeenPartition | None:
        """Return what is trusted of a partition with these segments; None for nothing."""
        seen = self.partitions.get(partition)
        if seen is None or not segments:
            return None
        names = [one.name for one in seen.counts]
        first = names.index(segments[0].name) if segments[0].name in names else len(names)
        counts, files = seen.counts[first:], seen.files[first:]
        there = segments[: len(counts)]
        if not counts or len(there) == len(segments) or files != [*map(files_of, there)]:
            return None
        return SeenPartition(counts, files, seen.state)


def read_last_ok(state: Path, directory: Path, rules: dict[str, Any]) -> LastSeen:
    """Return the record of a directory by the same rules; an empty one if there is none."""
    name = blake2b(str(directory.resolve()).encode(), digest_size=16).hexdigest()
    found = LastSeen(state / f"{name}.json", {**rules, "version": _VERSION}, {})
    with suppress(OSError, ValueError, KeyError, TypeError):
        document = json.loads(found.path.read_bytes())
        text = json.dumps(document["seen"]).encode()
        if document["digest"] == _digest(text) and document["seen"]["rules"] == found.rules:
            for partition, row in document["seen"]["partitions"].items():
                counts = [_counts(one) for one in row["counts"]]
                found.partitions[partition] = SeenPartition(counts, row["files"], row["state"])
    return found


def write_last_ok(record: LastSeen) -> None:
    """Put an `ok` on record. Raises OSError."""
    record.path.parent.mkdir(parents=True, exist_ok=True)
    seen = {
        "rules": record.rules,
        "partitions": {
            name: {"counts": [*map(asdict, one.counts)], "files": one.files, "state": one.state}
            for name, one in record.partitions.items()
        },
    }
    text = json.dumps(seen)
    seen = json.loads(text)  # as it will be read: keys are texts
    document = {"digest": _digest(json.dumps(seen).encode()), "seen": seen}
    temporary = record.path.with_name(f".{uuid4().hex}.tmp")
    with replacing(record.path, temporary=temporary) as file:
        file.write(json.dumps(document).encode())


def files_of(segment: SegmentFiles) -> list[Any]:
    """Return what is compared of a segment: size and time of each of its files, by suffix."""
    found = []
    for suffix in sorted(segment.sizes):
        with suppress(OSError):
            status = segment.path(suffix).stat()
            found.append([suffix, status.st_size, status.st_mtime_ns, status.st_ctime_ns])
    return found


def state_to_json(state: LogState) -> dict[str, Any]:
    """Return the state after a segment, as a record keeps it."""
    gaps = [*state.older_gaps, *state.gaps]
    return {
        "next_offset": state.next_offset,
        "epoch": state.epochs.epoch,
        "epochs_on_record": state.epochs.on_record,
        "producers": state.producers.to_json(),
        "open": {str(number): [*place] for number, place in state.open_places.items()},
        "gaps": state.further_gaps + len(gaps),
        "missing": state.further_missing + sum(gap.stop - gap.start for gap in gaps),
        "missing_until": state.missing_until,
        "lost_until": max((one.stop for one in state.lost), default=0),
    }


def state_from_json(row: Mapping[str, Any], empty: LogState) -> LogState:
    """Return the state of a record; `empty` has the leader epochs."""
    empty.epochs.epoch = row["epoch"]
    return replace(
        empty,
        next_offset=row["next_offset"],
        producers=Producers.from_json(row["producers"]),
        open_places={int(number): BatchPlace(*place) for number, place in row["open"].items()},
        further_gaps=row["gaps"],
        further_missing=row["missing"],
        missing_until=row["missing_until"],
        lost=deque([range(row["lost_until"])]),
    )


def _counts(row: Mapping[str, Any]) -> SegmentCounts:
    notes: Iterable[Sequence[Any]] = row["notes"]
    return SegmentCounts(**{**row, "notes": [_note(one) for one in notes]})


def _note(row: Sequence[Any]) -> Finding:
    kind, topic, partition, detail, segment, offset, position, _, stands_for, *_ = row
    kind = BrokerFault(kind)
    return Finding(kind, topic, partition, detail, segment, offset, position, None, stands_for)


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
