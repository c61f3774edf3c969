"""Check a partition of a broker: its segments in order, then what the small files say of them.

Every gap of offsets is explained, or it is a finding:

    retention     in front of the log
    control       markers of transactions have offsets, and no consumer sees them
    compaction    inside batches that have lost records; between batches, if the partition is known
                  to be compacted, by the cleaner's checkpoint or by such batches
    damage        bytes that cannot be read; they are a finding themselves
    truncation    in front of the first batch of another leader: `truncated`
    loss          none of these: `offset-gap`

What retention deletes meanwhile is left out. Source: Kafka: LogManager, UnifiedLog, LogCleaner.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from kminilog.broker_files.checkpoints import LeaderEpoch
from kminilog.broker_files.directory import REMOTE_INDEXES, BrokerDirectory, PartitionListing
from kminilog.errors import in_words
from kminilog.format.names import LOG_SUFFIX, TopicPartition, segment_name
from kminilog.text import count
from kminilog.verification.broker_files.faults import BrokerFault
from kminilog.verification.broker_files.last_ok import (
    LastSeen,
    SeenPartition,
    files_of,
    state_from_json,
    state_to_json,
)
from kminilog.verification.broker_files.leader_epochs import LeaderEpochs
from kminilog.verification.broker_files.log_state import LogState
from kminilog.verification.broker_files.offset_order import MissingOffsets
from kminilog.verification.broker_files.segment_checks import SegmentCounts, check_segment
from kminilog.verification.broker_files.small_files import (
    CLEANED,
    EPOCHS,
    HIGH_WATERMARKS,
    LOG_STARTS,
    RECOVERY_POINTS,
    Checkpoints,
    read_leader_epochs,
    unreadable_files,
)
from kminilog.verification.coverage import Unchecked
from kminilog.verification.findings import Aspect, Finding, NewRest
from kminilog.verification.summaries import PartitionSummary

# Kafka's own, which it always compacts, whatever has been compacted on this broker.
_ALWAYS_COMPACTED = ("__consumer_offsets", "__transaction_state")
_MOVING = (f"{LOG_SUFFIX}.deleted", f"{LOG_SUFFIX}.swap")


@dataclass
class PartitionVerdict:
    """What was found out about a partition: as `verify --json` has it, and what was not checked."""

    summary: dict[str, Any]
    findings: list[Finding]
    checked: list[Aspect]
    unchecked: list[Unchecked]
    seen: SeenPartition | None = None  # all but the last segment, for the next `--since-last`


def check_partition(
    directory: BrokerDirectory,
    topic_partition: TopicPartition,
    checkpoints: Checkpoints,
    *,
    is_full: bool = False,
    strict_index: bool = False,
    rest: NewRest | None = None,
    last_ok: LastSeen | None = None,
) -> PartitionVerdict:
    """Check every segment of a partition, one after the other, then all together; O(bytes).

    `is_full` decodes every record. By `strict_index`, an index that another broker than one of
    today would have written is a finding, too. What `last_ok` has seen is taken on trust. Raises
    NotInDirectoryError.
    """
    files = directory.files_of(topic_partition)
    trusted = last_ok and last_ok.of(str(topic_partition), files.segments)
    check = _PartitionCheck(files, checkpoints, is_full, strict_index, rest, trusted)
    return check.run(directory)


class _PartitionCheck:
    def __init__(
        self,
        files: PartitionListing,
        checkpoints: Checkpoints,
        is_full: bool,
        strict_index: bool,
        rest: NewRest | None,
        trusted: SeenPartition | None,
    ) -> None:
        self._files = files
        self._where = files.topic_partition
        self._checkpoints = checkpoints
        self._is_full = is_full
        self._strict_index = strict_index
        self._rest = rest
        self._findings: list[Finding] = []
        self._unchecked: list[Unchecked] = []
        self._epochs = self._read_epochs()
        self._state = LogState(epochs=LeaderEpochs(self._epochs, self._epochs_of_now))
        self._trusted = trusted if trusted and self._still_fits(trusted) else None

    def _still_fits(self, seen: SeenPartition) -> bool:
        """Tell if the small files say of these segments what they said."""
        before, state = seen.state["epochs_on_record"], seen.state
        start = int(seen.counts[0].name)
        has_said = self._state.epochs.has_said(before, start, state["next_offset"])
        return has_said and (not state["gaps"] or self._is_compacted(seen.counts))

    def run(self, directory: BrokerDirectory) -> PartitionVerdict:
        segments = self._files.segments
        counts: list[SegmentCounts] = []
        if self._trusted:
            counts += self._trusted.counts
            self._state = state_from_json(self._trusted.state, self._state)
        listed = [*map(files_of, segments)]
        seen = None
        next_bases = [one.base_offset for one in segments[1:]]
        for files, next_base in [*zip_longest(segments, next_bases)][len(counts) :]:
            if next_base is None and len(counts) == len(segments) - 1:
                seen = SeenPartition([*counts], listed[:-1], state_to_json(self._state))
            found = check_segment(
                self._where,
                files,
                self._state,
                next_base=next_base,
                is_full=self._is_full,
                rest=self._rest,
            )
            is_first_of_more = not counts and next_base is not None
            if is_first_of_more and found.unchecked and not os.path.lexists(files.log_path):
                self._state.next_offset = None  # retention has deleted it
                continue
            counts.append(found)
        log_start = self._checkpoints.of(LOG_STARTS, self._where) or 0
        start = int(counts[0].name) if counts else log_start
        end = self._state.next_offset if self._state.next_offset is not None else start
        missing = self._explain_gaps(log_start, counts)
        log_start = max(start, log_start)
        lost_start = self._judge_start(directory)
        missing["retention"] = log_start - lost_start
        missing["loss"] += lost_start
        tail = counts[-1] if counts and counts[-1].is_tail_damaged else None
        missing["damage" if tail else "loss"] += self._judge_end(end, tail)
        self._judge_transactions()
        for detail in unreadable_files(self._files):
            self._add(BrokerFault.BAD_CHECKPOINT, detail)
        self._judge_strays(directory)
        for one in counts:
            self._findings += one.findings + (one.notes if self._strict_index else [])
        return PartitionVerdict(
            self._summary(log_start, end, counts, missing),
            self._findings,
            self._checked(counts),
            [*self._unchecked, *self._left_out(counts)],
            seen,
        )

    # ---- offsets

    def _explain_gaps(self, log_start: int, counts: Sequence[SegmentCounts]) -> dict[str, int]:
        """Return how many offsets are missing for which reason; add findings for those lost.

        What is missing in front of `log_start` was deleted.
        """
        state = self._state
        missing = dict.fromkeys(("compaction", "truncation", "loss"), 0)
        missing["control"] = sum(one.control_count for one in counts)
        missing["damage"] = sum(one.lost_in_damage for one in counts)
        gaps = [
            gap._replace(start=max(gap.start, log_start))
            for gap in (*state.older_gaps, *state.gaps)
            if gap.stop > log_start
        ]
        if self._is_compacted(counts):
            missing["compaction"] = sum(map(_size, gaps)) + state.further_missing
            cleaned = self._checkpoints.of(CLEANED, self._where) or 0
            if dirty := sum(_size(gap) for gap in gaps if gap.start >= cleaned > 0):
                why = (
                    f"{count(dirty, 'offset')} missing from {cleaned} on, where this broker has "
                    "compacted nothing yet; another replica may have"
                )
                self._unchecked.append(Unchecked(Aspect.MESSAGES, str(self._where), why))
            return missing
        for slot, gap in enumerate(gaps):
            kind = BrokerFault.TRUNCATED if gap.is_at_leader else BrokerFault.OFFSET_GAP
            missing["truncation" if gap.is_at_leader else "loss"] += _size(gap)
            detail = f"{count(_size(gap), 'offset')} missing, {gap.start} to {gap.stop - 1}"
            found = self._finding(kind, detail, gap.segment, gap.start, gap.position)
            more = state.further_gaps if slot == len(gaps) - 1 else 0
            last = gap.stop - 1 if _size(gap) > 1 else None
            self._findings.append(found._replace(last_offset=last, stands_for=1 + more))
        missing["loss"] += state.further_missing
        return missing

    def _is_compacted(self, counts: Sequence[SegmentCounts]) -> bool:
        has_thinned = any(one.thinned_count for one in counts)
        is_cleaned = self._checkpoints.of(CLEANED, self._where) is not None
        return has_thinned or is_cleaned or self._where.topic in _ALWAYS_COMPACTED

    def _judge_start(self, directory: BrokerDirectory) -> int:
        """Compare where the log began, when it was listed, with the leader epochs on record.

        Returns how many offsets are lost there.
        """
        if not (self._epochs and self._files.segments):
            return 0
        first, start = self._epochs[0].start_offset, self._files.segments[0].base_offset
        if first >= start or self._is_moving(start):
            return 0
        log_start = self._checkpoints.of(LOG_STARTS, self._where)
        is_remote = any(one.name == REMOTE_INDEXES for one in directory.others())
        if is_remote and log_start is not None and log_start < start:
            why = f"offsets {log_start} to {start - 1} are in remote storage"
            self._unchecked.append(Unchecked(Aspect.MESSAGES, str(self._where), why))
            return 0
        detail = f"{EPOCHS} says that the log begins at offset {first}, but it begins at {start}"
        self._add(BrokerFault.LOST_START, detail, offset=start)
        return max(start - max(first, log_start or 0), 0)

    def _is_moving(self, start: int) -> bool:
        """Tell if retention or a compaction is at work on what was in front of `start`.

        Both rename segments; only then does the broker write the epochs anew, or put a new segment
        in place.
        """
        names = (one.name for one in self._files.others if one.name.endswith(_MOVING))
        return any(name < segment_name(start) for name in names)

    def _judge_end(self, end: int, tail: SegmentCounts | None) -> int:
        """Compare where the log ends with what is on record; return how many offsets are lost.

        `tail` is the last segment, if it ends with damage: then they are lost by that.
        """
        epochs, where = self._epochs or [], self._where
        known = [
            (self._checkpoints.of(LOG_STARTS, where), LOG_STARTS),
            (self._checkpoints.of(RECOVERY_POINTS, where), RECOVERY_POINTS),
            (self._checkpoints.of(HIGH_WATERMARKS, where), HIGH_WATERMARKS),
            (epochs[-1].start_offset if epochs else None, EPOCHS),
        ]
        furthest, name = max((offset or 0, name) for offset, name in known)
        if furthest <= end:
            return 0
        if tail and tail.findings:
            at = max(range(len(tail.findings)), key=lambda n: tail.findings[n].position or 0)
            damage = tail.findings[at]
            lost = (
                f"; {name} says that it reached {furthest}: {count(furthest - end, 'offset')} lost"
            )
            tail.findings[at] = damage._replace(detail=damage.detail + lost)
        elif not tail:
            detail = f"the log ends at offset {end}, but {name} says that it reached {furthest}"
            self._add(BrokerFault.LOST_END, detail, offset=end)
        return furthest - end

    def _judge_transactions(self) -> None:
        for producer_id, (segment, offset, position) in self._state.open_places.items():
            if offset < self._state.damaged_until:
                continue  # its end may be in what cannot be read
            detail = f"producer {producer_id} has not ended its transaction"
            found = self._finding(BrokerFault.OPEN_TRANSACTION, detail, segment, offset, position)
            self._findings.append(found)

    # ---- small files

    def _epochs_of_now(self) -> list[LeaderEpoch] | None:
        try:
            return read_leader_epochs(self._files.directory)
        except (OSError, ValueError):
            return self._epochs

    def _read_epochs(self) -> list[LeaderEpoch] | None:
        try:
            return read_leader_epochs(self._files.directory)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            self._add(BrokerFault.BAD_CHECKPOINT, f"{EPOCHS}: {in_words(error)}")
            return None

    def _judge_strays(self, directory: BrokerDirectory) -> None:
        strays = self._strays(self._files)
        if strays:  # the files of a segment go one after the other
            strays &= self._strays(directory.files_of(self._where))
        for name, what in sorted(strays):
            self._add(BrokerFault.ORPHAN_FILE, f"{name}: {what}")

    @staticmethod
    def _strays(files: PartitionListing) -> set[tuple[str, str]]:
        return {
            (one.name, one.what)
            for one in files.others
            if not one.is_known or one.what.startswith("of a segment without")
        }

    # ---- what is told

    def _summary(
        self,
        start: int,
        end: int,
        counts: Sequence[SegmentCounts],
        missing: Mapping[str, int],
    ) -> dict[str, Any]:
        readable_until, after = None, None
        records = 0
        for one in counts:
            if one.readable and readable_until is None:
                readable_until, before = one.readable
                after = sum(each.record_count for each in counts) - records - before
            records += one.record_count
        summary = PartitionSummary(
            *self._where,
            log_start_offset=start,
            log_end_offset=end,
            message_count=records,
            size_bytes=sum(one.log_bytes for one in counts),
            segment_count=len(counts),
            findings=self._findings,
            unchecked=[],
            segments=[_row(one) for one in counts],
            trusted_until=self._trusted.state["next_offset"] if self._trusted else None,
            readable_until=readable_until,
            valid_after_damage=after,
        )
        opened = self._state.producers.open
        stable = min(opened.values()) if opened else end
        return {
            **summary.to_json(),
            "batch_count": sum(one.batch_count for one in counts),
            "last_stable_offset": stable,
            "missing_offsets": dict(missing),
        }

    def _checked(self, counts: Sequence[SegmentCounts]) -> list[Aspect]:
        if not counts:
            return []
        checked = [Aspect.MESSAGES, Aspect.INDEXES, Aspect.LEADER_EPOCHS, Aspect.PRODUCERS]
        if self._is_full:
            checked += [Aspect.RECORDS, Aspect.COMPRESSED]
        if self._epochs:
            checked.append(Aspect.LOG_STARTS)
        if self._has_end:
            checked.append(Aspect.LOG_ENDS)
        return checked

    @property
    def _has_end(self) -> bool:
        known = (RECOVERY_POINTS, HIGH_WATERMARKS)
        return any(self._checkpoints.of(name, self._where) is not None for name in known)

    def _left_out(self, counts: Sequence[SegmentCounts]) -> Iterator[Unchecked]:
        """Yield what was not checked of this partition, and why."""
        where = str(self._where)
        if not self._files.segments:
            yield Unchecked(Aspect.MESSAGES, where, "there is no segment", asked=True)
        for other in self._files.others:
            if other.name.endswith((f"{LOG_SUFFIX}.swap", ".checkpoint")):
                yield Unchecked(Aspect.MESSAGES, f"{where}/{other.name}", other.what)
        for one in counts:
            for why in one.unchecked:
                yield Unchecked(Aspect.MESSAGES, where, why, asked=True)
            for reason, times in one.unread.items():
                why = f"{count(times, 'batch')}: {reason}"
                yield Unchecked(Aspect.RECORDS, f"{where}/{one.name}.log", why, asked=True)
        if self._trusted:
            segments = count(len(self._trusted.counts), "segment", "are")
            why = f"{segments} taken on trust: they were ok the last time"
            yield Unchecked(Aspect.MESSAGES, where, why)
        batches = sum(one.batch_count for one in counts)
        if batches and not self._is_full:
            why = f"the records inside {count(batches, 'batch')} whose checksums match"
            yield Unchecked(Aspect.RECORDS, where, why, "--full")
        sets = sum(one.compressed_set_count for one in counts)
        if sets and not self._is_full:
            why = f"the offsets inside {count(sets, 'compressed message')}"
            yield Unchecked(Aspect.COMPRESSED, where, why, "--full")
        notes = [] if self._strict_index else [note for one in counts for note in one.notes]
        if notes:
            total = sum(note.stands_for for note in notes)
            why = (
                f"{count(total, 'entry')} missing or with another offset than a broker "
                f"since 4.0 writes, the first at {notes[0].place}: {notes[0].detail}"
            )
            yield Unchecked(Aspect.INDEXES, where, why, "--strict-index")
        if not self._epochs:
            why = f"there is no {EPOCHS}; verify checked only that they ascend"
            yield Unchecked(Aspect.LEADER_EPOCHS, where, why)
        if not self._has_end:
            why = f"neither {RECOVERY_POINTS} nor {HIGH_WATERMARKS} names the partition"
            yield Unchecked(Aspect.LOG_ENDS, where, why)

    def _add(self, kind: BrokerFault, detail: str, *, offset: int | None = None) -> None:
        self._findings.append(self._finding(kind, detail, None, offset, None))

    def _finding(
        self,
        kind: BrokerFault,
        detail: str,
        segment: str | None,
        offset: int | None,
        position: int | None,
    ) -> Finding:
        return Finding(kind, *self._where, detail, segment, offset, position)


def _size(gap: MissingOffsets) -> int:
    return gap.stop - gap.start


def _row(counts: SegmentCounts) -> dict[str, Any]:
    return {
        "segment": counts.name,
        "first_offset": counts.first_offset,
        "last_offset": counts.last_offset,
        "message_count": counts.record_count,
        "size_bytes": counts.log_bytes,
        "index_entry_count": counts.index_entries,
        "batch_count": counts.batch_count,
        "control_count": counts.control_count,
        "compacted_batch_count": counts.thinned_count,
    }
