"""The messages of a log dir as a Spark data source, `spark.read.format("kminilog").load(log_dir)`.

    topic string, partition int, offset long, position long, segment string, key binary,
    value binary

The option `topic` takes one topic only. Each task reads some segments, in no particular order;
readers need no lock. Damage is passed over, since verification names it, and a segment that
retention has deleted meanwhile is not there. What a writer adds after planning may be read or not.
"""

from collections.abc import Iterator, MutableMapping, Sequence
from itertools import islice

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.spark.task_groups import task_groups
from kminilog.storage.log_dir import LogDir
from kminilog.storage.segment import Segment
from kminilog.verification.log_walk import walk

SCHEMA = (
    "topic string, partition int, offset long, position long, segment string, "
    "key binary, value binary"
)
_BATCH_MESSAGES = 8192
_BATCH_BYTES = 4 << 20
_DEFAULT_CORES = 16


def read_log(spark: SparkSession, log_dir: LogDir, topic: str) -> DataFrame:
    """Return the messages of a topic; columns as above."""
    spark.dataSource.register(LogSource)
    reader = spark.read.format(LogSource.name()).option("topic", topic)
    reader = reader.option("cores", spark.sparkContext.defaultParallelism)
    return reader.load(str(log_dir.path.resolve()))


class LogSource(DataSource):
    """Register it with `spark.dataSource.register(LogSource)`."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._log_dir = LogDir(options.get("path", ""))
        self._topic = options.get("topic")
        self._cores = int(options.get("cores", _DEFAULT_CORES))

    @classmethod
    def name(cls) -> str:
        """Return what `format` takes."""
        return "kminilog"

    def schema(self) -> str:
        """Return the columns."""
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what plans the tasks and reads in them."""
        return _LogReader(self._log_dir, self._topic, self._cores)


Place = tuple[TopicPartition, int]  # a segment's partition and base offset


class SegmentGroup(InputPartition):
    """The segments that one task reads."""

    def __init__(self, places: list[Place]) -> None:
        super().__init__(places)
        self.places = places


class _LogReader(DataSourceReader):
    def __init__(self, log_dir: LogDir, topic: str | None, cores: int) -> None:
        self._log_dir = log_dir
        self._topic = topic
        self._cores = cores

    def partitions(self) -> Sequence[SegmentGroup]:
        log_dir = self._log_dir
        topics = log_dir.topics() if self._topic is None else [log_dir.topic(self._topic)]
        sized: list[tuple[Place, int]] = []
        for topic in topics:
            for topic_partition in topic.all_partitions():
                for segment in log_dir.reader(topic_partition).segments():
                    sized.append(((topic_partition, segment.base_offset), segment.file_bytes))
        groups = task_groups(sized, lambda item: item[1], cores=self._cores)
        return [SegmentGroup([place for place, _ in group]) for group in groups or [[]]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, SegmentGroup)
        for topic_partition, base_offset in partition.places:
            reader = self._log_dir.reader(topic_partition)
            for segment in reader.segments():
                if segment.base_offset == base_offset:
                    yield from _batches(topic_partition, segment)


def _batches(topic_partition: TopicPartition, segment: Segment) -> Iterator[pa.RecordBatch]:
    messages = (
        (step.position, step.message) for step in walk(segment, segment.file_bytes) if step.message
    )
    while batch := _take(messages):
        yield _encode(topic_partition, segment.name, batch)


def _take(messages: Iterator[tuple[int, Message]]) -> list[tuple[int, Message]]:
    batch, batch_bytes = [], 0
    for position, message in islice(messages, _BATCH_MESSAGES):
        batch.append((position, message))
        batch_bytes += message.length_bytes
        if batch_bytes > _BATCH_BYTES:
            break
    return batch


def _encode(
    topic_partition: TopicPartition, name: str, batch: list[tuple[int, Message]]
) -> pa.RecordBatch:
    count = len(batch)
    return pa.RecordBatch.from_pydict(
        {
            "topic": pa.array([topic_partition.topic] * count, pa.string()),
            "partition": pa.array([topic_partition.partition] * count, pa.int32()),
            "offset": pa.array([message.offset for _, message in batch], pa.int64()),
            "position": pa.array([position for position, _ in batch], pa.int64()),
            "segment": pa.array([name] * count, pa.string()),
            "key": pa.array([message.key for _, message in batch], pa.binary()),
            "value": pa.array([message.value for _, message in batch], pa.binary()),
        }
    )
