"""What a verification has checked, and what it has not: why not, and which option would check it.

    checked     messages, indexes, ...: each aspect that was checked in at least one place
    unchecked   an aspect, where, why not, and the option that asks for it
                asked: the user wanted it and it was not possible, so the verdict is not `ok`
                not asked: the verdict may be `ok`, but the report lists it, too

So the reader of a report knows exactly what `ok` means. Source: ours.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from kminilog.storage.topics import Topic
from kminilog.text import count
from kminilog.verification.findings import Aspect
from kminilog.verification.summaries import PartitionSummary


class Unchecked(NamedTuple):
    """One aspect that was not checked; `where` is a topic, a partition, a file, a cluster, or ''.

    `may_pass` tells if the same check may succeed when it is tried again.
    """

    what: Aspect
    where: str
    why: str
    option: str | None = None
    asked: bool = False
    may_pass: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return what `verify --json` prints under `unchecked`; `may_pass` it says of them all."""
        return {name: value for name, value in self._asdict().items() if name != "may_pass"}

    def in_words(self) -> str:
        """Return it as a line of text.

        >>> NO_SOURCE.in_words()
        'source: none is named; give --against SOURCE'
        """
        place = f"{self.what} of {self.where}" if self.where else self.what
        return f"{place}: {self.why}" + (f"; give {self.option}" if self.option else "")


NO_SOURCE = Unchecked(Aspect.SOURCE, "", "none is named", "--against SOURCE")


def coverage_of(
    topic: Topic, summaries: Sequence[PartitionSummary], *, is_partitioner_named: bool = False
) -> tuple[list[Aspect], list[Unchecked]]:
    """Return what was checked of a topic, and what was not.

    `is_partitioner_named` tells if the user says what has placed the keys.
    """
    checked = []
    listed = [summary for summary in summaries if summary.segment_count or not summary.unchecked]
    if listed:
        checked += [Aspect.MESSAGES, Aspect.INDEXES]
    unchecked = [
        Unchecked(Aspect.MESSAGES, f"{topic.name}-{summary.partition}", why, asked=True)
        for summary in summaries
        for why in summary.unchecked
    ]
    for aspect, what, is_known in (
        (Aspect.LOG_STARTS, "log start", [summary.has_log_start for summary in summaries]),
        (Aspect.LOG_ENDS, "recovery point", [summary.has_recovery_point for summary in summaries]),
    ):
        checked += [aspect] * (bool(listed) and any(is_known))
        if unknown := is_known.count(False):
            why = f"no {what} is on record for {unknown} of {count(len(is_known), 'partition')}"
            unchecked.append(Unchecked(aspect, topic.name, why))
    if any(summary.has_jobs for summary in listed):
        checked += [Aspect.JOBS, *[Aspect.DIGESTS] * any(one.has_digests for one in listed)]
        unchecked += [] if Aspect.DIGESTS in checked else [_no_digests(topic)]
    notes = [note for summary in summaries for note in summary.notes]
    if notes:
        why = (
            f"{len(notes)} lack entries, the first at {notes[0].place}; Kafka adds at most one "
            "for each appended set"
        )
        unchecked.append(Unchecked(Aspect.INDEXES, topic.name, why, "--strict-index"))
    for summary in summaries:
        place = f"{topic.name}-{summary.partition}"
        unchecked += [Unchecked(Aspect.JOBS, place, why) for why in summary.unjudged]
    has_rule = any(summary.has_placement for summary in summaries)
    if any(summary.has_placement for summary in listed):
        checked.append(Aspect.PLACEMENT)
    unchecked += _unplaced(topic, summaries, has_rule, is_partitioner_named)
    compressed = sum(summary.compressed_count for summary in summaries)
    if compressed:
        why = f"{compressed} not opened; `kminilog dump FILE --deep` shows the messages inside"
        unchecked.append(Unchecked(Aspect.COMPRESSED, topic.name, why, asked=has_rule))
    return checked, unchecked


def _no_digests(topic: Topic) -> Unchecked:
    why = "the fingerprints of its jobs miss a change that keeps the crc"
    return Unchecked(Aspect.DIGESTS, topic.name, why, "--full")


def _unplaced(
    topic: Topic, summaries: Sequence[PartitionSummary], has_rule: bool, is_named: bool
) -> list[Unchecked]:
    """Return what is said of keys of which nobody knows where they belong."""
    unplaced = sum(summary.unplaced_count for summary in summaries)
    messages = f"{count(unplaced, 'message')} with {'a key' if unplaced == 1 else 'keys'}"
    if topic.partitions == 1 or not (unplaced or not (has_rule or is_named)):
        return []
    if is_named or topic.has_grown:
        why = f"no job recorded how many partitions the topic had for {messages}"
        return [Unchecked(Aspect.PLACEMENT, topic.name, why)]
    why = "the partitioner of its keys is unknown"
    if has_rule:
        why = f"the partitioner of {messages} is unknown"
    return [Unchecked(Aspect.PLACEMENT, topic.name, why, "--partitioner NAME")]
