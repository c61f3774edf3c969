"""Batch reads of the data source: what the engine's reader reads, and no file needlessly."""

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from kminilog.cli.shared.engines import spark_at_work
from kminilog.columns import message_batches
from kminilog.errors import (
    CompressedMessageError,
    CorruptLogError,
    KMiniLogError,
    LogDirError,
)
from kminilog.format.dialect import KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.jobs.spark.datasource import pushdown, ranges
from kminilog.jobs.spark.datasource.batch_reader import ranges_to_batches
from kminilog.jobs.spark.datasource.door import register
from kminilog.jobs.spark.datasource.options import (
    COLUMNS,
    read_options,
    write_options,
)
from kminilog.jobs.spark.datasource.pushdown import plan_each_scan
from kminilog.jobs.spark.datasource.ranges import (
    SegmentRange,
    grouped,
    ranges_between,
    selected_ranges,
)
from kminilog.jobs.spark.runtime.failures import spark_failures
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.notices import KMiniLogWarning
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from tests.support.compacting import join_segments_of
from tests.support.damage import flip_byte, message_positions
from tests.support.errors import error_text
from tests.support.storage.losses import AT_END, AT_START, all_segments

MESSAGES = [(None, b"first"), (b"", b""), (b"k\xff", b"\0\xfe"), ("ключ".encode(), b"x" * 90)] * 5
PARTITION = TopicPartition("orders", 0)
Load = Callable[..., DataFrame]


@pytest.fixture
def log_dir(tmp_path: Path, dialect) -> LogDir:
    """Partition 0 of each topic has several segments, partition 1 one message, partition 2 none."""
    nulls = [(b"null", None)] if dialect.has_value_length else []
    with LogDirWriter.open(tmp_path, create=True) as writer:
        for topic in ("orders", "others"):
            settings = TopicSettings(segment_bytes=400, index_interval_bytes=50)
            writer.create_topic(Topic(topic, 3, dialect, settings))
            writer.log(TopicPartition(topic, 0)).append(MESSAGES + nulls)
            writer.log(TopicPartition(topic, 1)).append([(b"k", topic.encode())])
    return LogDir(tmp_path)


@pytest.fixture
def load(spark: SparkSession, log_dir: LogDir) -> Load:
    register(spark)

    def load_log(**options: str) -> DataFrame:
        return spark.read.format("kminilog").options(**options).load(str(log_dir.path))

    return load_log


def rows_of(frame: DataFrame) -> list[tuple[object, ...]]:
    rows = [tuple(bytes(v) if isinstance(v, bytearray) else v for v in r) for r in frame.collect()]
    return sorted(rows, key=lambda row: row[:3])


def stored(log_dir: LogDir, *topics: str) -> list[tuple[object, ...]]:
    """What the engine's reader finds, message by message, as rows."""
    rows = []
    for topic in topics:
        for topic_partition in log_dir.topic(topic).all_partitions():
            reader = log_dir.reader(topic_partition)
            for offset in range(reader.log_start_offset, reader.log_end_offset):
                found = reader.find(offset)
                place = (*topic_partition, offset, found.position)
                rows.append((*place, found.message.key, found.message.value, found.segment.name))
    return rows


@pytest.mark.first
def test_load_has_all_messages_of_all_topics_with_their_places(load, log_dir):
    frame = load()
    assert frame.columns == list(COLUMNS)
    assert rows_of(frame) == stored(log_dir, "orders", "others")


def test_load_of_topics_and_columns_has_these_only(load, log_dir):
    assert rows_of(load(topic="orders")) == stored(log_dir, "orders")
    assert rows_of(load(topic=" others , orders")) == stored(log_dir, "orders", "others")
    frame = load(topic="orders", columns="offset,partition,  value")
    assert [field.simpleString() for field in frame.schema] == [
        "offset:bigint",
        "partition:int",
        "value:binary",
    ]
    wanted = [(row[2], row[1], row[5]) for row in stored(log_dir, "orders")]
    assert rows_of(frame) == sorted(wanted)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
@pytest.mark.parametrize(
    ("condition", "keeps"),
    [
        ("partition = 0 AND offset >= 7 AND offset < 12", lambda t, p, o: p == 0 and 7 <= o < 12),
        ("offset > 3 AND offset <= 5", lambda t, p, o: 3 < o <= 5),
        ("offset IN (2, 9, 400)", lambda t, p, o: o in (2, 9)),
        ("topic = 'others' AND partition IN (1, 2)", lambda t, p, o: (t, p) == ("others", 1)),
        ("topic IN ('orders', 'no') AND partition <> 0", lambda t, p, o: (t, p) == ("orders", 1)),
        ("topic < 'others' AND topic <> 'x'", lambda t, p, o: t == "orders"),
        ("offset = 3 AND offset = 4", lambda t, p, o: False),
        ("offset IN (null) OR partition = null", lambda t, p, o: False),
        ("partition < 0 OR offset = 19", lambda t, p, o: o == 19),
        ("offset >= -5 AND partition <=> 1", lambda t, p, o: p == 1),
        ("offset > 17.5 AND NOT (offset = 19)", lambda t, p, o: o > 17.5 and o != 19),
        ("topic = 'orders,others' OR topic = '[orders]'", lambda t, p, o: False),
        ("topic LIKE 'o%s' AND key IS NULL AND offset % 2 = 0", lambda t, p, o: o % 4 == 0),
    ],
)
def test_load_with_a_filter_has_what_passes_it(load, log_dir, condition, keeps):
    if "key IS NULL" in condition:
        keeps_all = keeps
        keeps = lambda t, p, o: p == 0 and o < 20 and keeps_all(t, p, o)  # noqa: E731
    wanted = [row for row in stored(log_dir, "orders", "others") if keeps(*row[:3])]
    assert rows_of(load().where(condition)) == wanted


def test_filters_keep_reads_away_from_damaged_segments(load, log_dir):
    """In orders-0 all but the second segment are zeroes, and others-0 is not even there."""
    before = stored(log_dir, "orders")
    segments = log_dir.reader(PARTITION).segments()
    second = range(segments[1].first_offset, segments[2].first_offset)
    for segment in [segments[0], *segments[2:]]:
        segment.log_path.write_bytes(bytes(64))
        segment.index.path.write_bytes(bytes(64))
    for path in (log_dir.path / "others-0").iterdir():
        path.unlink()
    (log_dir.path / "others-0").rmdir()
    wanted = f"offset >= {second.start} AND offset < {second.stop}"
    where = f"topic = 'orders' AND partition = 0 AND {wanted}"
    assert rows_of(load().where(where)) == [r for r in before if r[1] == 0 and r[2] in second]
    with pytest.raises(KMiniLogError, match="byte 0: damaged"), spark_failures("s"):
        load().where(f"topic = 'orders' AND offset = {second.stop}").collect()


@pytest.mark.parametrize("is_on", ["true", "false"])
@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_each_scan_of_one_data_frame_has_the_filters_of_its_own(spark, load, log_dir, is_on):
    """Whether or not Spark's own pushdown to Python sources is on, which would mix them up."""
    conf = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(conf, is_on)
    try:
        frame = load(topic="orders")
        one, some = frame.where("partition = 1"), frame.where("partition = 0 AND offset < 3")
        count = len(stored(log_dir, "orders"))
        assert (one.count(), frame.count(), some.count(), frame.count()) == (1, count, 3, count)
        assert rows_of(one.union(some).union(frame.where("offset = 19 AND partition = 0")))
        assert one.union(some).union(frame).count() == count + 4
        joined = frame.alias("a").join(some.alias("b"), ["partition", "offset"], "left")
        assert joined.where("b.topic IS NOT NULL").count() == 3
        assert joined.count() == count
        frame.createOrReplaceTempView("messages")
        last = "(SELECT max(offset) FROM messages WHERE partition = 0 AND offset < 7)"
        assert spark.sql(f"SELECT * FROM messages WHERE offset > {last}").count() == count - 8
    finally:
        spark.conf.unset(conf)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_explain_shows_what_is_pushed_down(load, capsys):
    load(topic="orders").where("offset = 2").select("partition").explain("formatted")
    told = capsys.readouterr().out
    assert "PushedFilters: [IsNotNull(offset), EqualTo(offset,2)]" in told
    assert "ReadSchema: struct<partition:int,offset:bigint>" in told


def test_session_that_cannot_have_the_rule_says_that_pushdown_is_off(spark, monkeypatch):
    """Another Spark may not know what the rule uses."""
    monkeypatch.setattr(pushdown, "_RULE", "kminilog.Other")
    off = rf"off in Spark {spark.version}: java.lang.ClassNotFoundException: kminilog.Other"
    with pytest.warns(KMiniLogWarning, match=off):
        plan_each_scan(spark)


def test_query_reads_the_columns_that_it_needs(load, log_dir):
    """A scan of no column has the first one; values and keys are not sent."""

    def scan(frame: DataFrame) -> str:
        (found,) = re.findall(
            r"BatchScan kminilog\[(.*?)\]", frame._jdf.queryExecution().toString()
        )
        return re.sub(r"#\d+L?", "", found)

    frame = load(topic="orders")
    found = frame.where("offset = 2").select("key").where("key IS NOT NULL")
    assert (scan(found), rows_of(found)) == ("offset, key", [(b"k\xff",)])
    counting = frame.groupBy().count()
    count = len(stored(log_dir, "orders"))
    assert (scan(counting), counting.collect()[0][0]) == ("topic", count)


def test_start_offset_starts_at_the_index_entry_in_front(load, log_dir):
    """A message in the same segment is damaged, before the entry: nobody looks at it."""
    segment = log_dir.reader(PARTITION).segments()[0]
    segment.index.load()
    last = segment.index.entries()[-1]
    wanted = segment.base_offset + last.relative_offset
    flip_byte(segment.log_path, 30, mask=1)
    bounds = {"startOffset": wanted, "endOffset": wanted + 1, "partitions": 0}
    for frame in (
        load(topic="orders", **bounds),
        load(topic="orders").where(f"partition = 0 AND offset = {wanted}"),
    ):
        assert [row[2] for row in rows_of(frame)] == [wanted]


def test_load_of_a_fifo_in_place_of_a_segment_is_one_clear_error(load, log_dir):
    segment = log_dir.reader(PARTITION).segments()[1]
    segment.log_path.unlink()
    os.mkfifo(segment.log_path)
    with pytest.raises(KMiniLogError) as caught, spark_failures("s"):
        load(topic="orders").collect()
    assert f"{segment.log_path}: a FIFO, not a regular file" in str(caught.value)


@pytest.mark.parametrize("place", [0, 1, -1], ids=["first", "second", "last"])
def test_load_of_damage_is_one_clear_error(load, log_dir, place):
    segment = log_dir.reader(PARTITION).segments()[place]
    *_, last, _ = message_positions(segment.log_path.read_bytes())
    flip_byte(segment.log_path, last + 13, mask=1)
    where = f"{segment.log_path}, byte {last}: damaged: bad-crc"
    with pytest.raises(KMiniLogError) as caught, spark_failures("s"):
        load(topic="orders").collect()
    assert str(caught.value).startswith(where)
    found = rows_of(load(topic="orders", failOnDamage="false").where("partition = 0"))
    assert found == stored_but(log_dir, segment, last)


def stored_but(log_dir: LogDir, damaged, position: int) -> list[tuple[object, ...]]:
    rows = []
    for segment in log_dir.reader(PARTITION).segments():
        for at, message in segment.scan():
            if (segment.base_offset, at) != (damaged.base_offset, position):
                place = (*PARTITION, message.offset, at)
                rows.append((*place, message.key, message.value, segment.name))
    return rows


def test_load_ends_before_an_unfinished_message(load, log_dir, dialect):
    before = stored(log_dir, "orders")
    log = log_dir.reader(TopicPartition("orders", 1)).segments()[-1].log_path
    with open(log, "ab") as file:
        file.write(encode(dialect, 1, b"k", b"unfinished")[:-1])
    assert rows_of(load(topic="orders")) == before


def test_load_of_a_log_dir_without_messages_has_no_rows(load, log_dir):
    assert load(topic="orders").where("partition = 2").count() == 0
    assert load().where("topic = 'none'").count() == 0


WRONG = [
    ({"topics": "orders"}, "setting topics: no such option here; there is: allowGaps, assign"),
    ({"topic": "gone"}, "Topic gone doesn't exist; `kminilog topic list` shows"),
    ({"columns": "offset,nonsense"}, "setting columns: no column 'nonsense'; there is: topic"),
    ({"columns": "key,key"}, "setting columns: a column is named twice"),
    ({"cores": "0"}, "setting cores: '0' is not a whole number from 1 on"),
    ({"failOnDamage": "no"}, "setting failOnDamage: 'no' is neither 'true' nor 'false'"),
    ({"partitions": "0,x"}, "setting partitions: 'x' is not a whole number from 0 on"),
    ({"partitions": "3"}, "Invalid partition id: 3 for topic o"),
    ({"endOffset": "1", "failOnDamage": "false"}, "setting failOnDamage: offsets after damage"),
    ({"startingOffsets": "latest"}, "setting startingOffsets: a batch from latest, -1, has no"),
    ({"topic": "orders", "subscribe": "others"}, "setting subscribe: topic says which topics"),
    ({"subscribe": " ,"}, "setting subscribe: no topic is named; without this option all are"),
    ({"subscribePattern": "a("}, "setting subscribePattern: 'a(' is no regular expression: m"),
    ({"assign": "orders"}, """setting assign: 'orders' is not JSON like {"orders": [0, 1],"""),
    ({"assign": '{"orders": ["0"]}'}, "is not JSON like"),
    ({"assign": '{"orders": [7]}'}, "Invalid partition id: 7 for topic orders"),
    ({"assign": '{"orders": [0]}', "partitions": "0"}, "setting partitions: assign names the"),
    (
        {"startingOffsets": '{"orders": {"0": -3}}'},
        """ is not 'earliest', 'latest' or JSON like {"orders": {"0": 23, "1": -2}}""",
    ),
    ({"endingOffsets": '{"orders": {"0": 1.5}}'}, "1.5}}' is not 'earliest', 'latest' or JSON"),
    ({"endingOffsets": "earliest"}, "setting endingOffsets: nothing ends at earliest, -2; the"),
    ({"startingOffsets": '{"orders": {"0": -1}}'}, "a batch from latest, -1, has no messages"),
    (
        {"topic": "orders", "startingOffsets": '{"orders": {"0": 1}}'},
        "setting startingOffsets: no offset for orders-1; -2 is its first message, and -1 its",
    ),
    (
        {"assign": '{"orders": [0]}', "endingOffsets": '{"orders": {"0": 1, "1": 1}}'},
        "setting endingOffsets: an offset for orders-1, which does not exist or is not read",
    ),
    (
        {"startOffset": "1", "startingOffsets": "earliest"},
        "setting startOffset: startingOffsets",
    ),
    ({"minPartitions": "0"}, "setting minPartitions: '0' is not a whole number from 1 on"),
    ({"maxOffsetsPerTrigger": "5"}, "setting maxOffsetsPerTrigger: only a stream has triggers"),
    ({"includeHeaders": "true"}, "setting includeHeaders: a message has no headers: what they"),
    (
        {"startingTimestamp": "1"},
        "setting startingTimestamp: a message has no timestamp: bound",
    ),
    ({"kafka.bootstrap.servers": "h:1"}, "setting kafka.bootstrap.servers: there is no Kafka"),
    ({"groupIdPrefix": "g"}, "setting groupIdPrefix: a read belongs to no consumer group"),
    ({"columns": "value,timestamp"}, "setting columns: a message has no timestamp"),
]


def test_case_and_underscores_of_an_option_do_not_matter():
    for name in ("job_id", "jobId", "JOBID", "JobID"):
        given = {"path": "/log", name: "j", "lock_timeout_ms": "7"}
        found = write_options(given, is_stream=False)
        assert (found.job_id, found.lock_timeout_ms) == ("j", 7)


def planned_ranges(log_dir: LogDir, start: int, end: int) -> Iterator[SegmentRange]:
    """Yield the ranges of PARTITION as a plan has them: of the topic of now."""
    topic_id = log_dir.topic_id(PARTITION.topic)
    for found in ranges_between(log_dir.reader(PARTITION), start, end):
        yield found._replace(topic_id=topic_id)


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_load_with_a_wrong_option_is_one_clear_error(load):
    def read(options: dict[str, str]) -> None:
        with spark_failures("s"):
            load(**options).collect()

    said = [(options, error, error_text(KMiniLogError, read, options)) for options, error in WRONG]
    assert [row for row in said if row[1] not in row[2] or "\n" in row[2]] == []


def test_load_without_a_log_dir_is_one_clear_error(spark, tmp_path):
    register(spark)
    missing = r"name the log dir, as in load\(log_dir\)"
    with pytest.raises(KMiniLogError, match=missing), spark_failures("s"):
        spark.read.format("kminilog").load()
    with pytest.raises(KMiniLogError, match="'log' is relative; tasks"), spark_failures("s"):
        spark.read.format("kminilog").load("log")
    for place in ("s3a://bucket/log", "hdfs://head:8020/log", "dbfs:/log"):
        with pytest.raises(KMiniLogError, match=f"'{place}' is no path of a POSIX file system"):
            read_options({"path": place})
    assert read_options({"path": "file:///log"}).log_dir == "///log"
    with pytest.raises(PySparkException, match="no such directory; name it with --log-dir"):
        spark.read.format("kminilog").load(str(tmp_path / "gone")).collect()


@pytest.mark.parametrize(
    ("options", "keeps"),
    [
        ({"partitions": "1, 2"}, lambda p, o: p == 1),
        ({"startOffset": "7", "endOffset": "12"}, lambda p, o: 7 <= o < 12),
        ({"startOffset": "18", "partitions": "0"}, lambda p, o: o >= 18),
        ({"startOffset": "500"}, lambda p, o: False),
    ],
    ids=["partitions", "offsets", "both", "none"],
)
def test_options_bound_what_is_read(load, log_dir, options, keeps):
    wanted = [row for row in stored(log_dir, "orders") if keeps(row[1], row[2])]
    assert rows_of(load(topic="orders", **options)) == wanted


@pytest.mark.parametrize(
    ("options", "keeps"),
    [
        ({"subscribe": "others, orders"}, lambda t, p, o: True),
        ({"subscribePattern": "oth.*|order"}, lambda t, p, o: t == "others"),
        (
            {"assign": '{"orders": [1], "others": [0]}'},
            lambda t, p, o: (t, p) in {("orders", 1), ("others", 0)},
        ),
        (
            {
                "subscribe": "orders",
                "startingOffsets": '{"orders": {"0": 18, "1": -2, "2": 0}}',
                "endingOffsets": '{"orders": {"0": -1, "1": 0, "2": -1}}',
            },
            lambda t, p, o: t == "orders" and p == 0 and o >= 18,
        ),
        (
            {"assign": '{"orders": [0]}', "endingOffsets": '{"orders": {"0": 5}}'},
            lambda t, p, o: (t, p) == ("orders", 0) and o < 5,
        ),
        ({"startingOffsets": "earliest", "endingOffsets": "latest"}, lambda t, p, o: True),
    ],
    ids=["subscribe", "pattern", "assign", "offsets", "both", "words"],
)
def test_options_of_kafka_bound_what_is_read(load, log_dir, options, keeps):
    wanted = [row for row in stored(log_dir, "orders", "others") if keeps(*row[:3])]
    assert rows_of(load(**options)) == wanted
    some = [row for row in wanted if row[1] == 0]
    assert rows_of(load(**options).where("partition = 0")) == some


def test_options_keep_reads_away_from_damaged_segments(load, log_dir):
    before = stored(log_dir, "orders")
    segments = log_dir.reader(PARTITION).segments()
    second = range(segments[1].first_offset, segments[2].first_offset)
    for segment in [segments[0], *segments[2:]]:
        segment.log_path.write_bytes(bytes(64))
    bounds = {"startOffset": second.start, "endOffset": second.stop, "partitions": 0}
    found = rows_of(load(topic="orders", **bounds))
    assert found == [row for row in before if row[1] == 0 and row[2] in second]


# ---- what a task reads, without Spark


@pytest.mark.parametrize("lose", [*AT_START, *AT_END])
def test_query_of_what_the_log_has_lost_is_an_error_unless_loss_is_allowed(log_dir, lose):
    ends = log_dir.reader(PARTITION).log_end_offset
    lose(log_dir.path / "orders-0")
    text = {"path": str(log_dir.path), "topic": "orders"}
    gone = "retention has not deleted" if lose in AT_START else "on the disk, the log ends before"
    for damage in ("true", "false"):
        with pytest.raises(LogDirError, match=rf"orders-0: .*{gone} .*; the option failOnDataLoss"):
            selected_ranges(log_dir, read_options({**text, "failOnDamage": damage}))
        selected_ranges(log_dir, read_options({**text, "failOnDataLoss": "false"}))
    there = range(ends - 1, ends) if lose in AT_START else range(1)
    if lose is not all_segments:
        bounds = {"startOffset": str(there.start), "endOffset": str(there.stop), "partitions": "0"}
        assert len(selected_ranges(log_dir, read_options({**text, **bounds}))) == 1


@pytest.mark.parametrize("bound", ["startingOffsets", "endingOffsets"])
def test_offset_that_the_log_does_not_have_is_an_error_or_the_nearest_one(log_dir, bound):
    with LogDirWriter.open(log_dir.path) as writer:
        writer.log(PARTITION).remove_first_segment(Segment.remove)
        first, end = writer.log(PARTITION).log_start_offset, writer.log(PARTITION).log_end_offset
    text = {"path": str(log_dir.path), "assign": '{"orders": [0]}', "failOnDataLoss": "false"}
    for offset, reason in (
        (1, f"orders-0: offsets 1 to {first - 1} have been deleted; the option failOnDataLoss"),
        (99, f"orders-0: it ends at {end}, but 99 is asked for; the option failOnDataLoss=false"),
    ):
        text[bound] = json.dumps({"orders": {"0": offset}})
        with pytest.raises(LogDirError, match=reason):
            selected_ranges(log_dir, read_options({**text, "failOnDataLoss": "true"}))
        found = selected_ranges(log_dir, read_options(text))
        is_empty = (bound == "startingOffsets") == (offset == 99)
        offsets = [o for planned in found for o in range(planned.start_offset, planned.end_offset)]
        assert offsets == ([] if is_empty else list(range(first, end)))


@pytest.mark.parametrize("count", [1, 2, 7, 41, 42, 43, 5000])
def test_min_partitions_cuts_ranges_into_so_many_tasks_with_as_many_messages_each(log_dir, count):
    """There are 42 messages, or 44 where a value can be null."""
    options = read_options({"path": str(log_dir.path), "minPartitions": str(count), "cores": "1"})
    groups = grouped(selected_ranges(log_dir, options), options)
    rows = stored(log_dir, "orders", "others")
    assert len(groups) == min(count, len(rows))
    sizes = [sum(len(range(r.start_offset, r.end_offset)) for r in group) for group in groups]
    assert max(sizes) - min(sizes) <= 1
    batches = ranges_to_batches(options, [planned for group in groups for planned in group])
    assert [tuple(row.values()) for batch in batches for row in batch.to_pylist()] == rows


def test_min_partitions_beside_damage_has_a_task_for_each_segment_at_most(log_dir):
    text = {"path": str(log_dir.path), "failOnDamage": "false", "minPartitions": "99"}
    ranges = selected_ranges(log_dir, read_options(text))
    assert grouped(ranges, read_options(text)) == [[planned] for planned in ranges]


def rows_without_spark(log_dir: LogDir, start: int, end: int) -> list[tuple[object, ...]]:
    options = read_options({"path": str(log_dir.path)})
    ranges = planned_ranges(log_dir, start, end)
    batches = list(ranges_to_batches(options, ranges))
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_ranges_of_any_size_and_windows_of_any_size_give_the_same_rows(log_dir, monkeypatch):
    rows = [row for row in stored(log_dir, "orders") if row[1] == 0]
    for piece_bytes, window_bytes in ((1, 1), (100, 64), (1 << 20, 150), (1 << 20, 1 << 20)):
        monkeypatch.setattr(ranges, "PIECE_BYTES", piece_bytes)
        monkeypatch.setattr(message_batches, "WINDOW_BYTES", window_bytes)
        for start, end in ((0, 1 << 40), (0, 1), (3, 17), (7, 8), (19, 300), (300, 400), (5, 5)):
            found = rows_without_spark(log_dir, start, end)
            assert found == [row for row in rows if start <= row[2] < end]


def test_range_is_what_was_there_when_it_was_planned(log_dir):
    ranges = list(planned_ranges(log_dir, 0, 1 << 40))
    rows = [row for row in stored(log_dir, "orders") if row[1] == 0]
    with LogDirWriter.open(log_dir.path) as writer:
        writer.log(PARTITION).append(MESSAGES)
    options = read_options({"path": str(log_dir.path)})
    found = [row for batch in ranges_to_batches(options, ranges) for row in batch.to_pylist()]
    assert [tuple(row.values()) for row in found] == rows


@pytest.mark.parametrize("fail_on_damage", ["true", "false"])
@pytest.mark.parametrize("done", range(4))
def test_ranges_give_each_message_once_if_segments_are_joined_meanwhile(
    log_dir, fail_on_damage, done
):
    """`done` ranges are read before the compaction, the others after it."""
    text = {"path": str(log_dir.path), "topic": "orders", "failOnDamage": fail_on_damage}
    options = read_options(text)
    offsets = [row[1:3] for row in stored(log_dir, "orders")]
    found = []
    for number, one in enumerate(selected_ranges(log_dir, options)):
        if number == done:
            join_segments_of(log_dir.path, "orders")
        for batch in ranges_to_batches(options, [one]):
            rows = batch.select(["partition", "offset"]).to_pylist()
            found += [tuple(row.values()) for row in rows]
    assert found == offsets


@pytest.mark.parametrize("fails", [True, False])
def test_range_whose_segment_is_deleted_meanwhile_is_an_error_or_passed_over(log_dir, fails):
    ranges = list(planned_ranges(log_dir, 0, 1 << 40))
    first, second, *_ = log_dir.reader(PARTITION).segments()
    first.remove()
    text = {"path": str(log_dir.path), "failOnDataLoss": str(fails).lower()}
    batches = ranges_to_batches(read_options(text), ranges)
    if fails:
        with pytest.raises(KMiniLogError, match="orders-0: the segment of offset 0 has been del"):
            list(batches)
    else:
        assert next(batches).column("offset")[0].as_py() == second.first_offset


@pytest.mark.parametrize("fails", [True, False])
def test_range_of_a_topic_that_is_created_again_meanwhile_gives_nothing_of_the_new_one(
    log_dir, dialect, fails
):
    text = {"path": str(log_dir.path), "failOnDataLoss": str(fails).lower(), "topic": "orders"}
    options = read_options(text)
    ranges = selected_ranges(log_dir, options)
    with LogDirWriter.open(log_dir.path) as writer:
        old = writer.topic("orders")
        writer.delete_topic("orders")
        writer.create_topic(replace(old, topic_id=None))
        writer.log(PARTITION).append(MESSAGES)
    if fails:
        with pytest.raises(KMiniLogError, match="orders-0: its topic was deleted, and another"):
            list(ranges_to_batches(options, ranges))
    else:
        assert list(ranges_to_batches(options, ranges)) == []
    assert list(ranges_to_batches(options, selected_ranges(log_dir, options)))


def test_large_segments_are_read_by_several_tasks(log_dir, monkeypatch):
    monkeypatch.setattr(ranges, "PIECE_BYTES", 100)
    pieces = list(planned_ranges(log_dir, 0, 1 << 40))
    assert len(pieces) > 2 * len(log_dir.reader(PARTITION).segments())
    offsets = [offset for piece in pieces for offset in range(piece.start_offset, piece.end_offset)]
    assert offsets == list(range(log_dir.reader(PARTITION).log_end_offset))


def write_messages(log_dir: LogDir, dialect: Dialect, *messages: tuple[int, bytes, int]) -> None:
    """Make the last partition one of other origin: offsets, values and attributes as given."""
    (segment,) = log_dir.reader(TopicPartition("orders", 2)).segments()
    encoded = (encode(dialect, o, None, value, attributes=a) for o, value, a in messages)
    segment.log_path.write_bytes(b"".join(encoded))


def offsets_without_spark(log_dir: LogDir, **options: str) -> list[int]:
    given = read_options(
        {"path": str(log_dir.path), "partitions": "2", "topic": "orders", **options}
    )
    ranges = selected_ranges(log_dir, given)
    return [offset for b in ranges_to_batches(given, ranges) for offset in b["offset"].to_pylist()]


def test_gap_is_damage_unless_gaps_are_allowed(log_dir, dialect):
    write_messages(log_dir, dialect, *((o, b"v" * 40, 0) for o in (0, 1, 7, 8, 30)))
    with pytest.raises(CorruptLogError, match="a whole message with offset 7, expected 2"):
        offsets_without_spark(log_dir)
    with pytest.warns(KMiniLogWarning) as told:
        assert offsets_without_spark(log_dir, allowGaps="true") == [0, 1, 7, 8, 30]
    assert [str(each.message).split(" (")[0] for each in told] == [
        "orders-2: a gap: offsets 2 to 6 are not in the log",
        "orders-2: a gap: offsets 9 to 29 are not in the log",
    ]
    for start, end, found, gap in ((2, 9, [7, 8], "2 to 6"), (8, 12, [8], "9 to 11")):
        bounds = {"startOffset": str(start), "endOffset": str(end), "allowGaps": "true"}
        with pytest.warns(KMiniLogWarning, match=f"offsets {gap} are not in the log"):
            assert offsets_without_spark(log_dir, **bounds) == found


def test_missing_segment_is_damage_unless_gaps_are_allowed(tmp_path, dialect):
    with LogDirWriter.open(tmp_path, create=True) as writer:
        writer.create_topic(Topic("orders", 3, dialect, TopicSettings(segment_bytes=200)))
        log = writer.log(TopicPartition("orders", 2))
        log.append((None, b"value %02d" % n) for n in range(40))
        _, missing, following, *_ = log.segments()
    missing.remove()
    lost = range(missing.first_offset, following.first_offset)
    with pytest.raises(CorruptLogError, match=f"but {lost.start} comes next") as caught:
        offsets_without_spark(LogDir(tmp_path))
    assert (caught.value.path, caught.value.position) == (str(following.log_path), 0)
    with pytest.warns(KMiniLogWarning, match=f"{lost.start} to {lost.stop - 1} are not in"):
        found = offsets_without_spark(LogDir(tmp_path), allowGaps="true")
    assert found == [offset for offset in range(40) if offset not in lost]


def test_end_that_is_cut_off_after_planning_is_lost_unless_that_is_passed_over(log_dir, dialect):
    write_messages(log_dir, dialect, *((o, b"v", 0) for o in range(4)))
    for options in ({}, {"failOnDataLoss": "false"}):
        given = read_options({"path": str(log_dir.path), "partitions": "2", **options})
        ranges = selected_ranges(log_dir, given)
        write_messages(log_dir, dialect, *((o, b"v", 0) for o in range(2)))
        batches = ranges_to_batches(given, ranges)
        if options:
            assert [offset for b in batches for offset in b["offset"].to_pylist()] == [0, 1]
        else:
            with pytest.raises(LogDirError, match="offsets 2 to 3 have been cut off meanwhile"):
                list(batches)
        write_messages(log_dir, dialect, *((o, b"v", 0) for o in range(4)))


def test_last_message_with_a_wrong_offset_is_damage(log_dir, dialect):
    write_messages(log_dir, dialect, (0, b"v", 0), (1, b"v", 0), (2 + (1 << 40), b"v", 0))
    for options in ({}, {"startOffset": "2"}):
        with pytest.raises(CorruptLogError, match="offset 1099511627778, expected 2"):
            offsets_without_spark(log_dir, **options)


def test_compressed_message_is_an_error_that_says_what_looks_inside(log_dir, dialect):
    write_messages(log_dir, dialect, (0, b"v", 0), (4, b"gzip", 1), (5, b"v", 0))
    with pytest.raises(CompressedMessageError, match="compressed with gzip; only `kminilog dump"):
        offsets_without_spark(log_dir)
    assert offsets_without_spark(log_dir, endOffset="1") == [0]
    assert offsets_without_spark(log_dir, failOnDamage="false") == [0, 4, 5]


def test_message_with_a_wrong_offset_is_damage(log_dir, dialect):
    write_messages(log_dir, dialect, (0, b"v", 0), (9, b"v", 0), (2, b"v", 0))
    with pytest.raises(CorruptLogError, match="a whole message with offset 9, expected 1"):
        offsets_without_spark(log_dir)
    assert offsets_without_spark(log_dir, failOnDamage="false") == [0, 9, 2]


@pytest.mark.parametrize("dialect", [KAFKA], ids=["kafka"])
def test_commands_that_use_spark_know_the_format(spark, log_dir):
    """In a session of their own, to which nobody has made it known."""
    jvm, new = spark.sparkContext._jvm.org.apache.spark.sql.classic.SparkSession, spark.newSession()
    jvm.setActiveSession(new._jsparkSession)
    try:
        with spark_at_work("working", None) as (start, _):
            frame = start().read.format("kminilog").load(str(log_dir.path))
            assert frame.where("partition = 1").count() == 2
    finally:
        jvm.setActiveSession(spark._jsparkSession)


class LogDirUnderRetention(LogDir):
    """Its readers have listed a segment that retention has deleted since."""

    def reader(self, topic_partition: TopicPartition, **options: Any) -> PartitionReader:
        reader = super().reader(topic_partition, **options)
        if topic_partition == PARTITION:
            reader.segments()[0].log_path.unlink()
        return reader


@pytest.mark.parametrize(("fail_on_damage", "offset_end"), [("true", "4"), ("false", None)])
def test_segment_that_is_deleted_while_a_read_is_planned_is_left_to_the_reading(
    log_dir, fail_on_damage, offset_end
):
    given = {"path": str(log_dir.path), "failOnDamage": fail_on_damage}
    options = read_options(given | ({"endOffset": offset_end} if offset_end else {}))
    planned = selected_ranges(LogDirUnderRetention(log_dir.path), options)
    sizes = [(r.base_offset, r.size_bytes) for r in planned if r.topic_partition == PARTITION]
    assert (0, 0) in sizes
