"""In which partition a record of a source belongs, as far as that can be known.

    one partition                        there
    the source says where (same_places)  there
    a job has read just this source      where that job's partitioner put it (columns.partitioning),
                                         among as many partitions as there were
    else, with a key and a keyed rule    where the rule says, if there always were as many
    else                                 UNKNOWN

The answer of a job's partitioner depends on the number of the file in the source. So it counts only
for the same arguments; links count as what they lead to. A user's own class is not asked.
Source: ours.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kminilog.columns.partitioning import Places, chooser
from kminilog.jobs.source.description import Source
from kminilog.partitioners.keyed_rules import keyed_rule, name_of
from kminilog.partitioners.registry import PARTITIONERS
from kminilog.storage.manifests import PARTITIONS, Manifest
from kminilog.storage.topics import Topic
from kminilog.verification.account.rows import UNKNOWN, Integers, bits_of
from kminilog.verification.records import job_rule
from kminilog.verification.summaries import KeyedPartition

Choose = Callable[[Any, Places], Integers]


@dataclass(frozen=True)
class ExpectedPartition:
    """What is known about where records belong in a topic. Spark pickles it for tasks."""

    partitions: int
    rule: KeyedPartition | None = None
    partitioner: str | None = None
    seed: int = 0
    is_told: bool = False

    @classmethod
    def of(
        cls,
        topic: Topic,
        partitioner: str | None,
        source: Source,
        jobs: Sequence[Manifest],
        *,
        is_within: bool,
    ) -> "ExpectedPartition":
        """Return what the jobs say that have read exactly this source, else what a keyed rule says.

        `jobs` count only if all such jobs had the same partitioner, seed and number of partitions.
        The rule is that of `partitioner`, if the user names one, else that of all jobs. It counts
        if it is known that there always were as many partitions: or else, `is_within`, for the
        messages of one job.
        """
        recorded = {
            (job.facts.get("partitioner"), job.facts.get("seed", 0), job.facts.get(PARTITIONS))
            for job in jobs
            if source.is_what_was_read(recorded_paths(job))
        }
        if len(recorded) == 1:
            placed_by, seed, partitions = recorded.pop()
            if placed_by in PARTITIONERS and partitions:
                return cls(partitions, None, placed_by, seed)
        return cls(topic.partitions, _rule(topic, partitioner, jobs, is_within=is_within))

    def told(self, source: Source) -> "ExpectedPartition":
        """Return the same, or that all is known, if the records of a source say where they are."""
        return replace(self, is_told=source.same_places)

    @property
    def knows_keyless(self) -> bool:
        """Whether the partition of a record without a key is known."""
        return self.partitions == 1 or self.partitioner is not None or self.is_told

    @property
    def knows_keyed(self) -> bool:
        """Whether the partition of a record with a key is known."""
        return self.knows_keyless or self.rule is not None

    def chooser(self) -> Choose:
        """Return a new function of an Arrow column of keys and their places to partitions.

        Its answers are an int64 array, with UNKNOWN where nobody can know. O(bytes of keys).
        """
        if self.partitions == 1:
            return lambda keys, places: np.zeros(len(keys), np.int64)
        if self.partitioner is not None:
            choose = chooser(self.partitioner, self.partitions, seed=self.seed)
            return lambda keys, places: choose(keys, places).astype(np.int64)
        if self.rule is None:
            return lambda keys, _: np.full(len(keys), UNKNOWN)
        by_key = chooser(name_of(self.rule.rule), self.rule.partitions)
        return lambda keys, places: np.where(
            bits_of(keys.is_valid()), by_key(keys, places), UNKNOWN
        )


def _rule(
    topic: Topic, partitioner: str | None, jobs: Sequence[Manifest], *, is_within: bool
) -> KeyedPartition | None:
    rules = {job_rule(job, partitioner) for job in jobs}
    if not jobs and partitioner:
        rules = {KeyedPartition(keyed_rule(partitioner), topic.partitions)}
    if len(rules) != 1:
        return None
    (rule,) = rules
    is_sure = is_within or not (topic.has_grown or (rule and rule.partitions != topic.partitions))
    return rule if is_sure else None


def recorded_paths(job: Manifest) -> list[str]:
    """Return the arguments of the source that a job has read; none if its manifest has none."""
    source = job.facts.get("source")
    paths = source.get("paths") if isinstance(source, dict) else None
    return paths if isinstance(paths, list) else []
