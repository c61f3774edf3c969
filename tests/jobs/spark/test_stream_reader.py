"""A streaming read: positions, limits, restarts beside a producer, and messages that are gone."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from kminilog.errors import CorruptLogError, KMiniLogError, SettingError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.datasource.options import read_options
from kminilog.jobs.spark.datasource.stream_reader import LogStreamReader, lag
from kminilog.jobs.spark.runtime.failures import spark_failures
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.notices import KMiniLogWarning
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic, write_topic
from tests.support.damage import flip_byte
from tests.support.storage.losses import AT_END, AT_START

SMALL = TopicSettings(segment_bytes=500, index_interval_bytes=100)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[LogDirWriter]:
    with LogDirWriter.open(tmp_path / "log", create=True) as log_dir:
        create_old(log_dir, Topic("orders", 2, KAFKA, SMALL))
        create_old(log_dir, Topic("others", 1, DOCUMENTED, SMALL))
        yield log_dir


def create_old(writer: LogDirWriter, topic: Topic) -> None:
    """Create a topic without an id, as an earlier release did: then positions have offsets only."""
    write_topic(writer.path, replace(writer.create_topic(topic), topic_id=None))


def append(writer: LogDirWriter, topic: str, partition: int, count: int) -> None:
    log = writer.log(TopicPartition(topic, partition))
    log.append([(b"k", b"value %d" % n) for n in range(count)])


def stream_of(writer: LogDirWriter, **options: str) -> LogStreamReader:
    return LogStreamReader(read_options({"path": str(writer.path), **options}, is_stream=True))


def offsets_of(reader: LogStreamReader, start: dict[str, int], end: dict[str, int]) -> Any:
    """Return the offsets that a micro-batch has, by partition."""
    found: dict[str, list[int]] = {}
    for group in reader.partitions(start, end):
        for batch in reader.read(group):
            for row in batch.to_pylist():
                found.setdefault(f"{row['topic']}-{row['partition']}", []).append(row["offset"])
    return found


# ---- without a query


def test_positions_begin_at_the_start_or_at_the_end_as_asked(writer):
    append(writer, "orders", 1, 9)
    append(writer, "others", 0, 1)
    assert stream_of(writer).initialOffset() == {"orders-0": 0, "orders-1": 0, "others-0": 0}
    latest = stream_of(writer, startingOffsets="latest", topic="orders").initialOffset()
    assert latest == {"orders-0": 0, "orders-1": 9}


def test_positions_begin_at_the_offset_of_each_partition(writer):
    append(writer, "orders", 0, 9)
    append(writer, "orders", 1, 9)
    starting = '{"orders": {"0": 4, "1": -1}}'
    reader = stream_of(writer, subscribe="orders", startingOffsets=starting)
    assert reader.initialOffset() == {"orders-0": 4, "orders-1": 9}
    with pytest.raises(SettingError, match="startingOffsets: no offset for others-0; -2 is its"):
        stream_of(writer, startingOffsets=starting).initialOffset()
    starting = '{"orders": {"0": 12, "1": -2}}'
    with pytest.raises(KMiniLogError, match="orders-0: it ends at 9, but 12 is asked for"):
        stream_of(writer, topic="orders", startingOffsets=starting).initialOffset()
    passing = stream_of(
        writer, topic="orders", startingOffsets=starting, failOnDataLoss="false"
    ).initialOffset()
    assert passing == {"orders-0": 9, "orders-1": 0}


def test_pattern_and_assigned_partitions_are_followed(writer):
    followed = stream_of(writer, subscribePattern="ord.*|new")
    assigned = stream_of(writer, assign='{"orders": [1]}')
    start = followed.initialOffset()
    assert start == {"orders-0": 0, "orders-1": 0}
    assert assigned.initialOffset() == {"orders-1": 0}
    writer.alter_topic("orders", partitions=3)
    create_old(writer, Topic("new"))
    for topic, partition in (("orders", 1), ("orders", 2), ("new", 0), ("others", 0)):
        append(writer, topic, partition, 2)
    new = {"new-0": 2, "orders-1": 2, "orders-2": 2}
    assert followed.latestOffset(start, ReadAllAvailable()) == {"orders-0": 0, **new}
    assert assigned.latestOffset({"orders-1": 0}, ReadAllAvailable()) == {"orders-1": 2}


def test_micro_batch_waits_for_so_many_messages_or_so_long(writer):
    now = [100.0]
    options = {"path": str(writer.path), "topic": "orders", "minOffsetsPerTrigger": "5"}
    reader = LogStreamReader(
        read_options({**options, "maxTriggerDelay": "60s"}, is_stream=True), clock=lambda: now[0]
    )
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMinRows(5)
    append(writer, "orders", 0, 1)
    first = reader.latestOffset({}, limit)
    assert first == {"orders-0": 1}, "the first micro-batch of a run does not wait"
    append(writer, "orders", 0, 2)
    append(writer, "orders", 1, 2)
    assert reader.latestOffset(first, limit) == first
    assert reader.latestOffset(first, ReadAllAvailable())["orders-0"] == 3
    now[0] += 59
    assert reader.latestOffset(first, limit) == first
    now[0] += 1
    second = reader.latestOffset(first, limit)
    assert second == {"orders-0": 3, "orders-1": 2}
    now[0] += 70
    assert reader.latestOffset(second, limit) == second, "there is nothing to read"
    append(writer, "orders", 1, 1)
    third = reader.latestOffset(second, limit)
    assert third == {"orders-0": 3, "orders-1": 3}, "the delay is over"
    append(writer, "orders", 1, 5)
    assert reader.latestOffset(third, limit) == {"orders-0": 3, "orders-1": 8}


def test_minimum_and_maximum_of_a_micro_batch_hold_together(writer):
    reader = stream_of(writer, topic="orders", minOffsetsPerTrigger="4", maxOffsetsPerTrigger="6")
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(6)
    append(writer, "orders", 0, 10)
    position = reader.latestOffset({}, limit)
    assert position == {"orders-0": 6}
    position = reader.latestOffset(position, limit)
    assert position == {"orders-0": 10}
    append(writer, "orders", 0, 3)
    assert reader.latestOffset(position, limit) == position
    append(writer, "orders", 0, 1)
    assert reader.latestOffset(position, limit) == {"orders-0": 14}
    append(writer, "orders", 0, 1)
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset({"orders-0": 14}, limit) == {"orders-0": 15}, "it must end"


def test_min_partitions_cuts_a_micro_batch_into_tasks(writer):
    append(writer, "orders", 0, 40)
    reader = stream_of(writer, topic="orders", minPartitions="4")
    groups = reader.partitions({}, {"orders-0": 40})
    assert len(groups) == 4
    assert offsets_of(reader, {}, {"orders-0": 40}) == {"orders-0": list(range(40))}


def test_gap_at_the_end_is_damage_unless_gaps_are_allowed(writer):
    append(writer, "orders", 0, 3)
    (segment,) = writer.log(TopicPartition("orders", 0)).segments()
    with open(segment.log_path, "ab") as file:
        file.write(encode(KAFKA, 9, None, b"behind a gap"))
    with pytest.raises(CorruptLogError, match="a whole message with offset 9, expected 3"):
        stream_of(writer, topic="orders").reportLatestOffset()
    reader = stream_of(writer, topic="orders", allowGaps="true")
    end = reader.latestOffset({}, ReadAllAvailable())
    assert end == {"orders-0": 10}
    with pytest.warns(KMiniLogWarning, match="orders-0: a gap: offsets 3 to 8 are not in the log"):
        assert offsets_of(reader, {}, end) == {"orders-0": [0, 1, 2, 9]}


def test_micro_batch_is_the_same_when_it_is_read_again(writer):
    append(writer, "orders", 0, 40)
    append(writer, "others", 0, 3)
    reader = stream_of(writer)
    start, end = reader.initialOffset(), {"orders-0": 33, "orders-1": 0, "others-0": 3}
    wanted = {"orders-0": list(range(33)), "others-0": [0, 1, 2]}
    assert offsets_of(reader, start, end) == wanted
    append(writer, "orders", 0, 40)
    assert offsets_of(stream_of(writer), start, end) == wanted
    assert offsets_of(reader, {**start, "orders-0": 30}, end)["orders-0"] == [30, 31, 32]
    assert reader.partitions(end, end) == []


def test_limit_is_shared_out_between_partitions(writer):
    append(writer, "orders", 0, 40)
    append(writer, "orders", 1, 3)
    append(writer, "others", 0, 40)
    reader = stream_of(writer, maxOffsetsPerTrigger="11")
    assert reader.getDefaultReadLimit() == ReadMaxRows(11)
    position, batches = reader.initialOffset(), []
    while (reached := reader.latestOffset(position, ReadMaxRows(11))) != position:
        batches.append(sum(reached.values()) - sum(position.values()))
        position = reached
    assert position == {"orders-0": 40, "orders-1": 3, "others-0": 40}
    assert batches == [11] * 7 + [6]
    first = reader.latestOffset(reader.initialOffset(), ReadMaxRows(11))
    assert first == {"orders-0": 4, "orders-1": 3, "others-0": 4}
    assert sum(reader.latestOffset(reader.initialOffset(), ReadMaxRows(1)).values()) == 1


def test_available_now_ends_where_the_logs_ended(writer):
    append(writer, "orders", 0, 5)
    reader = stream_of(writer)
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    append(writer, "orders", 0, 5)
    append(writer, "orders", 1, 5)
    reached = reader.latestOffset(start, ReadAllAvailable())
    assert reached == {"orders-0": 5, "orders-1": 0, "others-0": 0}
    assert reader.latestOffset(reached, ReadAllAvailable()) == reached
    ahead = {**reached, "orders-0": 7}  # a checkpoint may be ahead of it
    assert reader.latestOffset(ahead, ReadAllAvailable()) == ahead


def test_partitions_and_topics_that_come_later_are_followed_from_their_start(writer):
    reader = stream_of(writer)
    start = reader.initialOffset()
    writer.alter_topic("orders", partitions=4)
    create_old(writer, Topic("new"))
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    append(writer, "orders", 3, 4)
    append(writer, "new", 0, 2)
    reached = reader.latestOffset(start, ReadAllAvailable())
    assert reached == {**start, "orders-3": 4, "new-0": 2}
    assert offsets_of(reader, start, reached) == {"orders-3": [0, 1, 2, 3], "new-0": [0, 1]}


def delete_first_segment(writer: LogDirWriter) -> int:
    log = writer.log(TopicPartition("orders", 0))
    log.remove_first_segment(Segment.remove)
    return log.log_start_offset


def test_messages_that_retention_has_deleted_are_an_error_or_passed_over(writer):
    append(writer, "orders", 0, 40)
    start = {"orders-0": 2, "orders-1": 0}
    first = delete_first_segment(writer)
    assert first > 5
    reader = stream_of(writer, topic="orders")
    lost = rf"orders-0: offsets 2 to {first - 1} have been deleted; the option failOnDataLoss=false"
    for attempt in (
        lambda: reader.latestOffset(start, ReadAllAvailable()),
        lambda: reader.partitions(start, {"orders-0": 40, "orders-1": 0}),
    ):
        with pytest.raises(KMiniLogError, match=lost):
            attempt()
    reader = stream_of(writer, topic="orders", failOnDataLoss="false")
    reached = reader.latestOffset(start, ReadAllAvailable())
    assert reached == {"orders-0": 40, "orders-1": 0}
    assert offsets_of(reader, start, reached) == {"orders-0": list(range(first, 40))}
    assert reader.latestOffset(start, ReadMaxRows(3)) == {"orders-0": first + 3, "orders-1": 0}


@pytest.mark.parametrize("lose", [*AT_START, *AT_END])
def test_stream_of_what_the_log_has_lost_is_an_error_unless_loss_is_allowed(writer, lose):
    append(writer, "orders", 0, 40)
    writer.flush()
    lose(writer.path / "orders-0")
    gone = "retention has not deleted" if lose in AT_START else "on the disk, the log ends before"

    def begin(**options: str) -> Any:
        reader = stream_of(writer, topic="orders", **options)
        return reader.latestOffset(reader.initialOffset(), ReadAllAvailable())

    with pytest.raises(KMiniLogError, match=f"orders-0: .*{gone} .*; the option failOnDataLoss"):
        begin()
    assert begin(failOnDataLoss="false")["orders-0"] <= 40


def test_position_beyond_the_end_is_an_error_or_goes_back_to_it(writer):
    append(writer, "orders", 0, 4)
    start = {"orders-0": 9, "orders-1": 0}
    with pytest.raises(KMiniLogError, match="orders-0: it ends at 4, but 9 was reached before"):
        stream_of(writer, topic="orders").latestOffset(start, ReadAllAvailable())
    reader = stream_of(writer, topic="orders", failOnDataLoss="false")
    assert reader.latestOffset(start, ReadAllAvailable())["orders-0"] == 4


def test_topic_that_is_deleted_is_an_error_or_passed_over(writer):
    append(writer, "others", 0, 3)
    start = {"orders-0": 0, "orders-1": 0, "others-0": 1}
    writer.delete_topic("others")
    with pytest.raises(KMiniLogError, match="others-0: the partition has been deleted, or its"):
        stream_of(writer).latestOffset(start, ReadAllAvailable())
    reader = stream_of(writer, failOnDataLoss="false")
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    assert offsets_of(reader, start, {**start, "others-0": 3}) == {}


@pytest.fixture(params=[KAFKA, DOCUMENTED], ids=lambda dialect: dialect.name)
def create_again(writer: LogDirWriter, request: pytest.FixtureRequest) -> Callable[[int], None]:
    """Delete the topic `orders`, and create it again with so many messages in partition 0."""

    def create(count: int) -> None:
        writer.delete_topic("orders")
        writer.create_topic(Topic("orders", 2, request.param, SMALL))
        append(writer, "orders", 0, count)

    return create


@pytest.mark.parametrize("first_count", [None, 30])
@pytest.mark.parametrize("count", [5, 40])
def test_topic_that_was_created_again_is_an_error_or_read_from_its_start(
    writer, create_again, first_count, count
):
    """Its first topic has no id, as one of an earlier release, or one that is in the position."""
    append(writer, "orders", 0, 30) if first_count is None else create_again(first_count)
    reader = stream_of(writer, topic="orders")
    start = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert ("topic_ids" in start) == (first_count is not None)
    assert start["orders-0"] == 30
    create_again(count)
    gone = "orders-0: its topic was deleted, and another topic has its name now"
    reader = stream_of(writer, topic="orders")
    for attempt in (
        lambda: reader.latestOffset(start, ReadAllAvailable()),
        lambda: reader.partitions({**start, "orders-0": 3}, start),
    ):
        with pytest.raises(KMiniLogError, match=gone):
            attempt()
    reader = stream_of(writer, topic="orders", failOnDataLoss="false")
    assert offsets_of(reader, {**start, "orders-0": 3}, start) == {}
    reached = reader.latestOffset(start, ReadAllAvailable())
    assert (reached["orders-0"], reached["topic_ids"] == start.get("topic_ids")) == (count, False)
    assert offsets_of(reader, start, reached) == {"orders-0": list(range(count))}
    assert reader.latestOffset(reached, ReadAllAvailable()) == reached


def test_topic_that_is_created_again_after_the_end_of_the_query_was_fixed_is_not_in_it(
    writer, create_again
):
    append(writer, "orders", 0, 30)
    reader = stream_of(writer, topic="orders", failOnDataLoss="false")
    reader.prepareForTriggerAvailableNow()
    create_again(40)
    assert reader.latestOffset({}, ReadAllAvailable()) == {}


def test_topic_that_is_gone_keeps_its_id_in_the_position(writer, create_again):
    create_again(5)
    reader = stream_of(writer, failOnDataLoss="false")
    start = reader.latestOffset({}, ReadAllAvailable())
    writer.delete_topic("orders")
    assert reader.latestOffset(start, ReadAllAvailable()) == start


def test_stream_beside_a_deletion_says_so(writer):
    append(writer, "orders", 0, 3)
    write_topic(writer.path, replace(writer.topic("orders"), is_marked_for_deletion=True))
    start = {"orders-0": 1, "orders-1": 0}
    with pytest.raises(KMiniLogError, match="Topic orders is being deleted"):
        stream_of(writer, topic="orders").latestOffset(start, ReadAllAvailable())
    with pytest.raises(KMiniLogError, match="orders-0: the partition has been deleted, or its"):
        stream_of(writer).latestOffset(start, ReadAllAvailable())


def test_damage_at_the_end_of_a_log_stops_a_stream(writer):
    append(writer, "orders", 0, 3)
    log = writer.reader(TopicPartition("orders", 0)).segments()[-1].log_path
    flip_byte(log, log.stat().st_size - 1, mask=1)
    with pytest.raises(KMiniLogError, match="damaged"):
        stream_of(writer).latestOffset({}, ReadAllAvailable())


# ---- queries


Stream = Callable[..., DataFrame]


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    register(spark)

    def follow(**options: str) -> DataFrame:
        return spark.readStream.format("kminilog").options(**options).load(str(tmp_path / "log"))

    return follow


def run_available(frame: DataFrame, sink: Path, checkpoint: Path) -> list[int]:
    """Run a query over what is there; return the number of rows of each micro-batch."""
    writing = frame.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    query = writing.trigger(availableNow=True).start(str(sink))
    with spark_failures("stream"):
        query.awaitTermination()
    return [progress["numInputRows"] for progress in query.recentProgress]


def test_query_stopped_and_restarted_beside_a_producer_has_each_offset_once(
    spark, stream, writer, tmp_path
):
    """The producer goes on until the last of five runs has begun, each of which is cut short."""
    sink, checkpoint, is_enough = tmp_path / "sink", tmp_path / "checkpoint", Event()

    def produce() -> None:
        appended = 0
        while not is_enough.wait(0.05) or appended <= 50:
            append(writer, "orders", 0, 3)
            append(writer, "orders", 1, 2)
            appended += 2

    producer = Thread(target=produce)
    producer.start()
    try:
        for _ in range(5):
            frame = stream(topic="orders", maxOffsetsPerTrigger="20", columns="partition,offset")
            writing = frame.writeStream.format("parquet").option("checkpointLocation", checkpoint)
            query = writing.start(str(sink))
            while query.lastProgress is None and query.isActive:
                is_enough.wait(0.01)
            query.stop()
            assert query.exception() is None
    finally:
        is_enough.set()
        producer.join()
    frame = stream(topic="orders", columns="partition,offset")
    run_available(frame, sink, checkpoint)
    rows = Counter(tuple(row) for row in spark.read.parquet(str(sink)).collect())
    ends = [LogDir(writer.path).reader(TopicPartition("orders", p)).log_end_offset for p in (0, 1)]
    assert min(ends) > 50
    assert rows == Counter((p, offset) for p in (0, 1) for offset in range(ends[p]))


def test_query_restarted_after_its_topic_was_created_again_fails_or_begins_anew(
    spark, stream, writer, create_again, tmp_path
):
    create_again(30)
    sink, checkpoint = tmp_path / "sink", tmp_path / "checkpoint"
    assert sum(run_available(stream(topic="orders"), sink, checkpoint)) == 30
    create_again(40)
    with pytest.raises(KMiniLogError, match="orders-0: its topic was deleted, and another topic"):
        run_available(stream(topic="orders"), sink, checkpoint)
    anew = stream(topic="orders", failOnDataLoss="false")
    assert sum(run_available(anew, sink, checkpoint)) == 40
    assert spark.read.parquet(str(sink)).count() == 70


def test_query_over_what_is_available_keeps_to_the_limit_and_to_its_checkpoint(
    spark, stream, writer, tmp_path
):
    append(writer, "orders", 0, 25)
    sink, checkpoint = tmp_path / "sink", tmp_path / "checkpoint"
    limited = stream(topic="orders", maxOffsetsPerTrigger="10")
    assert [n for n in run_available(limited, sink, checkpoint) if n] == [10, 10, 5]
    append(writer, "orders", 1, 2)
    assert sum(run_available(stream(topic="orders"), sink, checkpoint)) == 2
    found = spark.read.parquet(str(sink)).orderBy("partition", "offset").collect()
    places = [(row.topic, row.partition, row.offset, bytes(row.value)) for row in found]
    assert places == [
        *(("orders", 0, n, b"value %d" % n) for n in range(25)),
        *(("orders", 1, n, b"value %d" % n) for n in range(2)),
    ]


def test_progress_of_a_query_tells_its_lag(stream, writer, tmp_path):
    append(writer, "orders", 0, 25)
    frame = stream(topic="orders", maxOffsetsPerTrigger="10")
    writing = frame.writeStream.format("noop").trigger(availableNow=True)
    query = writing.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.awaitTermination()
    lags = [lag(progress) for progress in query.recentProgress]
    assert [found["orders-0"] for found in lags][:3] == [15, 5, 0]
    assert {found["orders-1"] for found in lags} == {0}


def test_lag_counts_from_the_start_in_a_topic_that_was_created_again():
    ends = [{"orders-0": 7, "topic_ids": {"orders": name}} for name in ("old", "new")]
    reached, latest = map(json.dumps, ends)
    others = {"endOffset": '{"t": {"0": 1}}', "latestOffset": '{"t": {"0": 9}}'}  # Kafka's
    counting = {"endOffset": "5", "latestOffset": "9"}
    mine = {"endOffset": reached, "latestOffset": latest}
    assert lag({"sources": [others, counting, mine]}) == {"orders-0": 7}
    assert lag({"sources": [{**mine, "endOffset": "null"}]}) == {}


def test_query_whose_checkpoint_names_what_is_gone_is_one_clear_error(stream, writer, tmp_path):
    append(writer, "orders", 0, 10)
    sink, checkpoint = tmp_path / "sink", tmp_path / "checkpoint"
    run_available(stream(topic="orders"), sink, checkpoint)
    append(writer, "orders", 0, 40)
    while delete_first_segment(writer) <= 12:
        pass
    with pytest.raises(KMiniLogError) as caught:
        run_available(stream(topic="orders"), sink, checkpoint)
    assert "orders-0: offsets 10 to " in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"startingOffsets": "first"}, "startingOffsets: 'first' is not 'earliest', 'latest' or J"),
        ({"maxOffsetsPerTrigger": "-1"}, "maxOffsetsPerTrigger: '-1' is not a whole number from 1"),
        ({"failOnDamage": "false"}, "failOnDamage: only a batch can go on after damage"),
        ({"partitions": "0"}, "partitions: only a batch has it; assign names the partitions of a"),
        ({"startOffset": "0"}, "startOffset: only a batch has it; startingOffsets says where a"),
        ({"endingOffsets": "latest"}, "endingOffsets: only a batch ends there; trigger"),
        ({"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"}, "Trigger: 5 > 4, the maximum"),
        ({"maxTriggerDelay": "5m"}, "maxTriggerDelay: nothing delays a trigger without minOffsets"),
        ({"minOffsetsPerTrigger": "5", "maxTriggerDelay": "soon"}, "'soon' is not a duration such"),
        ({"nonsense": "1"}, "nonsense: no such option here; there is: allowGaps, assign, columns"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_stream_with_a_wrong_option_is_one_clear_error(options, error):
    with pytest.raises(SettingError, match=error):
        read_options(
            {"path": "/log", **{name.lower(): o for name, o in options.items()}}, is_stream=True
        )


@pytest.mark.usefixtures("writer")
def test_query_with_a_wrong_option_ends_with_one_line(stream, tmp_path):
    """Spark would replace an error of streamReader by one of its own."""
    checkpoint = str(tmp_path / "checkpoint")
    for options, error in (
        ({"partitions": "0"}, "setting partitions: only a batch has it; assign names the part"),
        ({"topic": "gone"}, "Topic gone doesn't exist; `kminilog topic list` shows"),
    ):
        writing = stream(**options).writeStream.format("noop")
        query = writing.option("checkpointLocation", checkpoint).start()
        with pytest.raises(StreamingQueryException) as caught:
            query.awaitTermination()
        assert f"Error: {error}" in str(caught.value)
        assert "Traceback" not in str(caught.value)
