"""What to keep of a partition after a crash: first a plan, then its execution.

A log may end in a *torn tail*: bytes that a dying writer left after the last whole message.
Recovery cuts it off. A message is *whole* if it has as many bytes as its size says, and a right
checksum, in the format of its dialect or in a later format. A tail is torn unless one of these is
whole:

    what stands exactly at the fault, with any offset
    a message further on in this segment, with the expected offset or a greater one: a value may
    contain copies of older messages
    a message in a later segment, with any offset

Recovery refuses all other *damage*, even if a changed size field makes it look like a torn tail.
Then nobody can write to the partition, and nothing changes until a human forces the cut. Every cut
keeps its bytes in a side file, `<segment>.log.<position>.cut`.

    segment 0        segment 1                 segment 2
    [m0 m1 m2 m3]    [m4 m5 m6 ~~~~~~~~~~~~]   (none)            torn tail: cut after m6
    [m0 m1 m2 m3]    [m4 m5 ~~~~~ m7 m8]       [m9 m10]          damage: m7 is whole
    [m0 m1 ~~~~~]    [m4 m5 m6]                [m7]              damage: m4 is whole

Recovery rebuilds an index that does not have exactly the due entries (`index_entry.is_due`), unless
the caller has another rule by which it is valid: a Kafka broker may have written it.
Source: ours; Kafka 0.8.2: Log.loadSegments, LogSegment.recover. Differs: Kafka cuts at the first
invalid message, whatever follows it (docs/differences.md).
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import NamedTuple

from kminilog.errors import CorruptLogError
from kminilog.format.index_entry import IndexEntry
from kminilog.format.names import (
    CUT_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TopicPartition,
    cut_file,
    parse_segment_file,
)
from kminilog.storage.files import naming, open_regular, sync
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.partition.segment_names import segments_among, whole_segments
from kminilog.storage.reserve import with_reserve
from kminilog.storage.segment.lookup import segment_slot
from kminilog.storage.segment.scan import (
    PLAIN,
    SegmentScan,
    SegmentScanner,
    has_due_entries,
    quick_end,
)
from kminilog.storage.segment.segment import Segment
from kminilog.storage.segment.whole_messages import (
    WholeMessages,
    said_of,
    whole_at,
    whole_messages,
)

_NONE_WHOLE = WholeMessages(0, 0)
NOT_DUE = "its entries are not those of the valid messages"


class ValidEnd(NamedTuple):
    """Where the valid part of a log ends, and what the log would lose by a cut there.

    `lost` counts the whole messages from the position on, here and in later segments. That includes
    copies of older messages inside a value, which the decision does not look at. `lost_bytes`
    counts all bytes there.
    """

    segment: Segment
    position: int
    reason: str
    lost_bytes: int
    lost: WholeMessages


class Decision(StrEnum):
    """What recovery does with a log at the place where its valid part ends."""

    KEEP = "keep"
    CUT = "cut"
    REFUSE = "refuse"


def decide(fault: str | None, is_whole_message_after: Callable[[], bool]) -> Decision:
    """Return what to do where the valid part of a log ends; `fault` is None at the file's end.

    A whole message after the fault may have been acknowledged, so a human must decide.

    >>> decide(None, lambda: False).value, decide("unfinished message", lambda: False).value
    ('keep', 'cut')
    >>> decide("bad-crc", lambda: True).value
    'refuse'
    """
    if fault is None:
        return Decision.KEEP
    return Decision.REFUSE if is_whole_message_after() else Decision.CUT


def leftovers_and_strays(
    names: Collection[str], *, is_after_crash: bool
) -> tuple[list[str], list[str]]:
    """Return which files of a partition a crash has left over, and which nobody knows, sorted.

    Recovery removes the leftovers: an index without its log and, after a crash, `.deleted` files.
    It leaves strays alone.

    >>> name = "00000000000000000007"
    >>> names = [f"{name}.index", f"{name}.log.deleted", f"{name}.log.9.cut", "notes.txt"]
    >>> leftovers_and_strays(names, is_after_crash=True)
    (['00000000000000000007.index', '00000000000000000007.log.deleted'], ['notes.txt'])
    >>> leftovers_and_strays([*names, f"{name}.log"], is_after_crash=False)
    ([], ['notes.txt'])
    """
    leftovers, strays = [], []
    for name in sorted(names):
        parsed = parse_segment_file(name)
        if parsed:
            is_index = parsed[1] == INDEX_SUFFIX
            if is_index and name.removesuffix(INDEX_SUFFIX) + LOG_SUFFIX not in names:
                leftovers.append(name)
        elif name.endswith(DELETED_SUFFIX):
            if is_after_crash:  # else retention removes it after file.delete.delay.ms
                leftovers.append(name)
        elif not name.endswith(CUT_SUFFIX):
            strays.append(name)
    return leftovers, strays


@dataclass
class RecoveryPlan:
    """What recovery would do to one partition; `carry_out` does it.

    `cut` is a torn tail; `damage` is damage of another kind, which is cut only with `force`. Never
    both. A cut removes the `later_segments`, too. `log_end_offset` is where the valid part ends.
    At the fault itself a whole message may stand, such as one with a wrong offset:
    `ValidEnd.lost` counts it and the whole messages after it, `following` only those after it.
    `whole_end_offset` is one past the greatest offset in `lost`, 0 without any.
    """

    topic_partition: TopicPartition
    directory: Path
    log_end_offset: int = 0
    whole_end_offset: int = 0
    following: WholeMessages = _NONE_WHOLE
    cut: ValidEnd | None = None
    damage: ValidEnd | None = None
    later_segments: list[Segment] = field(default_factory=list)
    rebuilt_indexes: list[tuple[Segment, list[IndexEntry]]] = field(default_factory=list)
    leftovers: list[Path] = field(default_factory=list)
    strays: list[Path] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def is_valid(self) -> bool:
        """Tell if there is nothing to do."""
        return not (self.cut or self.damage or self.rebuilt_indexes or self.leftovers)

    def refuse_damage(self) -> None:
        """Raise CorruptLogError if there is damage."""
        if self.damage:
            raise CorruptLogError(
                str(self.damage.segment.log_path),
                position=self.damage.position,
                reason=f"{self.damage.reason}; {self.following} after it",
                remedy="nothing can be appended; `kminilog recover` says what it can keep",
            )

    def sizes_after(self, segments: Iterable[Segment]) -> dict[Segment, int]:
        """Return the segments that are left of these once a torn tail is cut, and their sizes.

        They may be other objects than those of the plan: equal names mean the same segment.
        """
        removed = {segment.base_offset for segment in self.later_segments}
        sizes = {}
        for segment in segments:
            if self.cut and segment.base_offset == self.cut.segment.base_offset:
                sizes[segment] = self.cut.position
            elif segment.base_offset not in removed:
                sizes[segment] = segment.file_bytes
        return sizes


def plan_recovery(
    reader: PartitionReader,
    *,
    is_after_crash: bool = True,
    scan_from: int = 0,
    recovery_point: int = 0,
    scanner: SegmentScanner = PLAIN,
    is_valid_index: Callable[[Segment, SegmentScan], bool] = has_due_entries,
) -> RecoveryPlan:
    """Return what is wrong with a partition and what to do about it; changes nothing.

    `scan_from` says what to trust: segments wholly below this offset were flushed before. How much
    of a segment is read:

                                        below scan_from    all others
        after a crash                   its end            all
        after the writer has closed     nothing            its end

    The *end* is the last index interval; if it is not valid, all is read. After a close, a segment
    without an index belongs to "all others", and so do the segments after it, because each segment
    must begin where the one before it ends. `scanner` reads all of a segment, O(bytes); then its
    index is rebuilt unless `is_valid_index`.

    `recovery_point` says what to expect: a log that is valid only below this offset gets a warning.
    What callers pass:

                                        scan_from             recovery_point
        after a crash                   the recovery point    the recovery point
        after the writer has closed     the offset below it   the recovery point
        a user asks for a recovery      0                     the recovery point

    The offset below it makes recovery read the end of the last segment with messages.
    """
    plan = RecoveryPlan(reader.topic_partition, reader.directory)
    whole, other_files = whole_segments(os.listdir(plan.directory))
    without_index = segments_among(other_files)  # a `.log` whose `.index` is missing
    leftovers, strays = leftovers_and_strays(other_files, is_after_crash=is_after_crash)
    plan.leftovers = [plan.directory / name for name in leftovers]
    plan.strays = [plan.directory / name for name in strays]
    bases = sorted(whole + without_index)
    first_slot = segment_slot(reader.dialect, bases, scan_from)
    if is_after_crash:
        to_read = _to_read_after_a_crash(bases, first_slot)
    else:
        to_read = _to_read_after_a_close(bases, first_slot, without_index)
    segments = [reader.segment_named(base) for base, _ in to_read]
    plan.log_end_offset = segments[0].first_offset if segments else 0
    for slot, segment in enumerate(segments):
        if segment.first_offset != plan.log_end_offset:
            reason = f"the segment {segment.name} follows, expected offset {plan.log_end_offset}"
            before = slot - 1  # never -1: at slot 0 the two are equal, see above
            _decide_at(plan, segments, before, segments[before].file_bytes, reason, scanner)
            break
        _, is_read_whole = to_read[slot]
        end = None if is_read_whole else quick_end(segment)
        if end is not None:
            plan.log_end_offset = end
            continue
        scan = scanner.scan_segment(segment)
        plan.log_end_offset = scan.next_offset
        if not is_valid_index(segment, scan):
            plan.rebuilt_indexes.append((segment, scan.entries))
        decision = _decide_at(plan, segments, slot, scan.valid_bytes, scan.reason, scanner)
        if decision is not Decision.KEEP:
            break
    if plan.log_end_offset < recovery_point:
        plan.warnings.append(
            f"{reader.topic_partition}: the log is valid up to offset {plan.log_end_offset} only, "
            f"but its recovery point is {recovery_point}"
        )
    return plan


def _to_read_after_a_crash(bases: list[int], first_slot: int) -> list[tuple[int, bool]]:
    """Return all segments, and whether each is read whole: those from `first_slot` on are."""
    return [(base, slot >= first_slot) for slot, base in enumerate(bases)]


def _to_read_after_a_close(
    bases: list[int], first_slot: int, without_index: list[int]
) -> list[tuple[int, bool]]:
    """Return the segments from `first_slot` on, or from the first without an index; none whole."""
    first_slot = min([first_slot, *map(bases.index, without_index)])
    return [(base, False) for base in bases[first_slot:]]


def carry_out(plan: RecoveryPlan, *, force: bool = False) -> list[Path]:
    """Do what a plan says, and return the side files that keep what was cut off.

    Once it returns, the partition is valid, and what this call changed is on the disk. The messages
    that it kept may still be in the page cache only: the next flush syncs them. After a crash
    during the call, the next recovery finishes the work; one with `force` must be forced again.
    Raises CorruptLogError, with nothing changed, if there is damage; with `force` it cuts the log
    there instead.
    """
    if not force:
        plan.refuse_damage()
    cut = plan.cut or plan.damage
    side_files = []
    for path in plan.leftovers:  # first: on a full disk, the rest needs their space
        path.unlink()
    log_dir = plan.directory.parent  # its reserve has space for files on a full disk
    for segment, entries in plan.rebuilt_indexes:
        with_reserve(log_dir, partial(segment.index.rewrite, entries))
    for segment in reversed(plan.later_segments):  # the last one first: a crash leaves no gap
        side_files.append(_free_side_file(segment.log_path, 0))
        os.rename(segment.log_path, side_files[-1])
        segment.remove()
    if cut:
        segment = cut.segment
        if cut.position < segment.file_bytes:
            keep_tail = partial(_keep_tail, segment.log_path, cut.position)
            side_files.append(with_reserve(log_dir, keep_tail))
        segment.index.load()  # a valid index points at valid messages only: all its entries stay
        segment.truncate_to(cut.position, len(segment.index))
        segment.flush()
    if not plan.is_valid:
        for segment, _ in plan.rebuilt_indexes:
            sync(segment.index.path)
        sync(plan.directory)
    return side_files


def _decide_at(
    plan: RecoveryPlan,
    segments: list[Segment],
    slot: int,
    position: int,
    reason: str | None,
    scanner: SegmentScanner,
) -> Decision:
    """Decide if the log ends here, and if so put into the plan what a cut would lose."""
    segment, later_segments = segments[slot], segments[slot + 1 :]
    at_fault = whole_at(segment.log_path, position) if reason else None  # it may have any offset

    def is_whole_message_after() -> bool:
        later = (any(whole_messages(s.log_path)) for s in later_segments)
        here = whole_messages(segment.log_path, position, plan.log_end_offset)
        return bool(at_fault) or any(here) or any(later)

    decision = decide(reason, is_whole_message_after)
    if decision is Decision.KEEP or reason is None:  # None implies KEEP: it is for the type checker
        return Decision.KEEP
    plan.later_segments = later_segments
    lost_bytes = segment.file_bytes - position + sum(s.file_bytes for s in later_segments)
    whole = scanner.count_whole_messages(segment, position)
    for later in later_segments:
        whole = whole.plus(scanner.count_whole_messages(later, 0))
    plan.whole_end_offset, plan.following = whole.next_offset, whole
    if at_fault:
        plan.following = whole.without(at_fault)
        reason += said_of(at_fault)
    end = ValidEnd(segment, position, reason, lost_bytes, whole)
    if decision is Decision.REFUSE:
        plan.damage = end
    else:
        plan.cut = end
    return decision


def _keep_tail(log_path: Path, position: int) -> Path:
    side_file = _free_side_file(log_path, position)
    with naming(side_file), open(log_path, "rb", opener=open_regular) as log:
        log.seek(position)
        with open(side_file, "xb") as kept:
            try:
                shutil.copyfileobj(log, kept, 1 << 20)
                kept.flush()
            except OSError:
                side_file.unlink()  # it does not hold all: no use to anybody
                raise
    sync(side_file)
    sync(side_file.parent)  # before the cut: without its name, what it keeps would be lost
    return side_file


def _free_side_file(log_path: Path, position: int) -> Path:
    copy = 0
    while (path := log_path.with_name(cut_file(log_path.name, position, copy))).exists():
        copy += 1
    return path


def describe(plan: RecoveryPlan) -> list[str]:
    """Return the warnings, and a line for each step of a plan without damage.

    The words are those of `recover` and `verify`.
    """
    lines = [*plan.warnings]
    if plan.cut:
        place = (
            f"{plan.cut.segment.log_path}, offset {plan.log_end_offset}, byte {plan.cut.position}"
        )
        loss = f"{plan.cut.lost_bytes} bytes with {plan.cut.lost} lost"
        lines.append(f"{place}: torn-tail: {plan.cut.reason}; cut: {loss}")
    lines += [f"{s.index.path}: {NOT_DUE}; rebuilt" for s, _ in plan.rebuilt_indexes]
    lines += [f"{path}: left over; removed" for path in plan.leftovers]
    lines += [f"{path}: orphan-file: not a file of a partition; left alone" for path in plan.strays]
    return lines
