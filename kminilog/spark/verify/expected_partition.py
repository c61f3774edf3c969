"""In which partition a record of a source belongs, as far as that can be known.

    one partition                        there
    a job has read just this source      where that job's partitioner put it (bulk.partitioning)
    else, with a key and a keyed rule    where the rule says
    else                                 UNKNOWN

The answer of a job's partitioner depends on the number of the file in the source. So it counts only
for the same list of files. A user's own class is not asked. Source: ours.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf

from kminilog.bulk.partitioning import Places, chooser
from kminilog.partitioners.registry import PARTITIONERS
from kminilog.spark.source.records import Place, Source
from kminilog.storage.publish.manifests import Manifest
from kminilog.storage.topics import Topic
from kminilog.verification.segment_summary import PartitionOf

UNKNOWN = -1

Choose = Callable[[Any, Places], Any]


@dataclass(frozen=True)
class ExpectedPartition:
    """What is known about where records belong in a topic. Spark pickles it for tasks."""

    partitions: int
    rule: PartitionOf | None = None
    partitioner: str | None = None
    seed: int = 0

    @classmethod
    def of(
        cls, topic: Topic, rule: PartitionOf | None, source: Source, jobs: Sequence[Manifest]
    ) -> "ExpectedPartition":
        """Return what a keyed rule says, or the jobs that have read exactly this source.

        `jobs` count only if all such jobs had the same partitioner and seed.
        """
        paths = [os.path.abspath(path) for path in source.paths]
        recorded = {
            (job.facts.get("partitioner"), job.facts.get("seed", 0))
            for job in jobs
            if recorded_paths(job) == paths
        }
        if len(recorded) == 1:
            partitioner, seed = recorded.pop()
            if partitioner in PARTITIONERS:
                return cls(topic.partitions, rule, partitioner, seed)
        return cls(topic.partitions, rule)

    def partition_of(self, key: bytes | None, place: Place) -> int:
        """Return the partition of one record, or UNKNOWN."""
        places = Places(*(np.array([number], np.int64) for number in place))
        return int(self._choose()(pa.array([key], pa.binary()), places)[0])

    def column(self) -> Column:
        """Return the same for DataFrames: a column made of the columns `key` and `source`."""

        def partition(keys: pa.Array, *places: pa.Array) -> pa.Array:
            numbers = Places(*(place.to_numpy(zero_copy_only=False) for place in places))
            return pa.array(self._choose()(keys, numbers), pa.int32())

        parts = [sql.col(f"source.source_{name}").cast("long") for name in Places._fields]
        found: Column = arrow_udf(partition, "int")("key", *parts)  # type: ignore[call-overload]
        return found

    def _choose(self) -> Choose:
        if self.partitions == 1:
            return lambda keys, places: [0] * len(keys)
        if self.partitioner is not None:
            return chooser(self.partitioner, self.partitions, seed=self.seed)
        return lambda keys, places: self._by_rule(keys)

    def _by_rule(self, keys: pa.Array) -> list[int]:
        rule = self.rule
        return [UNKNOWN if rule is None or k is None else rule(k) for k in keys.to_pylist()]


def recorded_paths(job: Manifest) -> list[str]:
    """Return the arguments of the source that a job has read; none if its manifest has none."""
    source = job.facts.get("source")
    paths = source.get("paths") if isinstance(source, dict) else None
    return paths if isinstance(paths, list) else []
