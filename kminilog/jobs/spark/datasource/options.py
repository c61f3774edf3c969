"""The options of the data source `kminilog`, from texts to values, or one clear error.

The names are those of Spark's Kafka source where there is such an option; case and `_` do not
matter. An unknown option is an error, because it is mostly a typing error that would change what is
read. This module does not look into a log dir. Source: ours; Spark 4.3: PythonTableProvider, which
hands on no options of a table in Spark's catalog.
"""

import json
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from kminilog.config import short_name
from kminilog.errors import KMiniLogError, SettingError
from kminilog.format.names import MAX_OFFSET, TopicPartition
from kminilog.jobs.ingest.job_writer import LOCK_TIMEOUT_MS
from kminilog.producer_settings import PRODUCER_SETTINGS


@contextmanager
def in_one_line() -> Iterator[None]:
    """Make Spark report an error of kminilog without the traceback of the process that raised it.

    For what Spark calls to plan a query, and for tasks: in a worker that ends after an error.
    """
    try:
        yield
    except KMiniLogError:
        if "pyspark.worker_util" in sys.modules:
            os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


COLUMNS = {
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "position": LongType(),
    "key": BinaryType(),
    "value": BinaryType(),
    "segment": StringType(),
}
BROKER_COLUMNS: dict[str, DataType] = {
    **COLUMNS,
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": ArrayType(
        StructType([StructField("key", StringType()), StructField("value", BinaryType())])
    ),
}
"""Those of a read from a Kafka broker's directory: Spark's Kafka source has the last three, too."""
EARLIEST, LATEST = -2, -1  # in Kafka's JSON, too
_CHOICES = ("topic", "subscribe", "subscribePattern", "assign")
_BOTH = (
    "path",
    *_CHOICES,
    "columns",
    "startingOffsets",
    "minPartitions",
    "cores",
    "failOnDataLoss",
    "allowGaps",
)
READING = (*_BOTH, "endingOffsets", "partitions", "startOffset", "endOffset", "failOnDamage")
STREAMING = (*_BOTH, "maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
_NOT_OURS = ("checkpointLocation", "queryName")  # Spark hands them on
WRITING = ("path", "topic", "partitioner", "job_id", "lockTimeoutMs", "compactEvery", *_NOT_OURS)
NO_HEADERS = "a message has no headers: what they would say belongs in its key or its value"
NO_TIMESTAMPS = "a message has no timestamp"
_BY_OFFSET = f"{NO_TIMESTAMPS}: bound a read with startingOffsets and endingOffsets"
_NO_CLIENT = "there is no Kafka client here: the path of the log dir stands for the brokers"
_NO_BROKER = "tasks read the files of the log dir, and ask no broker: leave it out"
_ONLY_IN_STREAMS = "only a stream has triggers; a batch reads all that it names"
_REFUSED = {
    "includeHeaders": NO_HEADERS,
    "startingTimestamp": _BY_OFFSET,
    "endingTimestamp": _BY_OFFSET,
    "startingOffsetsByTimestamp": _BY_OFFSET,
    "endingOffsetsByTimestamp": _BY_OFFSET,
    "startingOffsetsByTimestampStrategy": _BY_OFFSET,
    "kafkaConsumer.pollTimeoutMs": _NO_BROKER,
    "fetchOffset.numRetries": _NO_BROKER,
    "fetchOffset.retryIntervalMs": _NO_BROKER,
    "groupIdPrefix": "a read belongs to no consumer group: leave it out",
    "maxRecordsPerPartition": "tasks are cut by bytes; minPartitions asks for more of them",
    "maxOffsetsPerTrigger": _ONLY_IN_STREAMS,
    "minOffsetsPerTrigger": _ONLY_IN_STREAMS,
    "maxTriggerDelay": _ONLY_IN_STREAMS,
    "endingOffsets": "only a batch ends there; trigger(availableNow=True) ends where logs end now",
    "startOffset": "only a batch has it; startingOffsets says where a stream starts",
    "endOffset": "only a batch ends there; trigger(availableNow=True) ends where logs end now",
    "partitions": "only a batch has it; assign names the partitions of a stream",
    "failOnDamage": "only a batch can go on after damage",
}


_VIEW = "CREATE TEMPORARY VIEW v USING kminilog OPTIONS (path '...', topic '...')"
_TO_READ = f"as in load(log_dir) or {_VIEW}; Spark hands on no options of a table"
_TO_WRITE = "as in save(log_dir); Spark hands on no options of a table: use DataFrame.write"
_ONLY_OF_TABLES = "provider"  # Spark passes it for CREATE TABLE only


class Filter(NamedTuple):
    """A condition of a query: `column` is related to one of the `values` by Spark's `operator`."""

    column: str
    operator: str
    values: tuple[Any, ...]


PartitionOffsets = int | Mapping[TopicPartition, int]
"""An offset for each partition, or one for all; EARLIEST and LATEST are offsets, too."""


@dataclass(frozen=True)
class ReadOptions:
    """What is read, and how.

    Without topics, a pattern and assigned partitions it is all topics; no partitions means all of
    a topic's. If Spark planned a scan for a query (pushdown.py), there are the columns of its
    table, and those filters of the query that bound what is read. `of_broker`: the log dir is a
    Kafka broker's directory.
    """

    log_dir: str
    topics: tuple[str, ...]
    pattern: re.Pattern[str] | None
    assigned: tuple[TopicPartition, ...]
    columns: tuple[str, ...]
    starting: PartitionOffsets
    ending: PartitionOffsets
    partitions: tuple[int, ...]
    start_offset: int
    end_offset: int
    min_tasks: int
    cores: int
    fail_on_damage: bool
    fail_on_data_loss: bool
    allows_gaps: bool
    max_offsets: int | None
    min_offsets: int | None
    max_delay_s: float
    all_columns: tuple[str, ...] = ()
    filters: tuple[Filter, ...] = ()
    of_broker: bool = False


@dataclass(frozen=True)
class WriteOptions:
    """Where messages go. Without a topic each row names one; without a job id it is a new job."""

    log_dir: str
    topic: str | None
    partitioner: str
    job_id: str | None
    lock_timeout_ms: int
    compact_every: int


def read_options(
    options: Mapping[str, str], *, is_stream: bool | None = None, of_broker: bool = False
) -> ReadOptions:
    """Return the options of a read as values; SettingError for one that is unknown or wrong.

    `is_stream` None means that it is not known yet: then the options of both kinds may be given.
    """
    if _ONLY_OF_TABLES in options:
        reason = (
            "Spark would hand no options of the table to kminilog: read a temporary view "
            f"({_VIEW}), and write by DataFrame.write"
        )
        raise SettingError("CREATE TABLE", reason=reason)
    names = {None: {*READING, *STREAMING}, False: READING, True: STREAMING}
    pushed = {name: text for name, text in options.items() if name.startswith(_PUSHED)}
    own = {name: text for name, text in options.items() if name not in pushed}
    given = _known(own, names[is_stream])
    _check_together(given)
    return ReadOptions(
        log_dir=_path(given, _TO_READ),
        topics=_topics(given),
        pattern=_pattern(given),
        assigned=tuple(_assigned(given)),
        columns=_columns(given, of_broker=of_broker),
        starting=_offsets(given, "startingOffsets", is_batch=is_stream is False),
        ending=_offsets(given, "endingOffsets"),
        partitions=tuple(_number("partitions", name) for name in _names(given, "partitions")),
        start_offset=_number("startOffset", given.get("startOffset", "0")),
        end_offset=_number("endOffset", given.get("endOffset", str(MAX_OFFSET + 1))),
        min_tasks=_count(given, "minPartitions") or 1,
        cores=_count(given, "cores") or os.cpu_count() or 1,
        fail_on_damage=_flag(given, "failOnDamage"),
        fail_on_data_loss=_flag(given, "failOnDataLoss"),
        allows_gaps=_flag(given, "allowGaps", default="false"),
        max_offsets=_count(given, "maxOffsetsPerTrigger"),
        min_offsets=_count(given, "minOffsetsPerTrigger"),
        max_delay_s=_seconds("maxTriggerDelay", given.get("maxTriggerDelay", "15m")),
        all_columns=_names(pushed, f"{_PUSHED}columns"),
        filters=tuple(_filters(pushed)),
        of_broker=of_broker,
    )


def _check_together(given: Mapping[str, str]) -> None:
    """Raise SettingError for options that contradict each other, or say the same twice."""
    named = [name for name in _CHOICES if name in given]
    for option, others, reason in (
        (named[-1] if named else "", named[:-1], "says which topics are read, too"),
        ("partitions", ["assign"], "names the partitions already"),
        ("startOffset", ["startingOffsets"], "says where a read starts, too"),
        ("endOffset", ["endingOffsets"], "says where a read ends, too"),
    ):
        if option in given and set(others) & given.keys():
            raise SettingError(option, reason=f"{others[0]} {reason}: give one of them")
    bounds = {"startOffset", "endOffset", "startingOffsets", "endingOffsets"} & given.keys()
    if bounds and not _flag(given, "failOnDamage"):
        reason = f"offsets after damage are not reliable: leave out {min(bounds)}"
        raise SettingError("failOnDamage", reason=reason)
    least, most = _count(given, "minOffsetsPerTrigger"), _count(given, "maxOffsetsPerTrigger")
    if least and most and least > most:
        raise SettingError("minOffsetsPerTrigger", reason=f"{least} > {most}, the maximum")
    if "maxTriggerDelay" in given and not least:
        reason = "nothing delays a trigger without minOffsetsPerTrigger"
        raise SettingError("maxTriggerDelay", reason=reason)


def for_schema(options: ReadOptions, schema: StructType) -> ReadOptions:
    """Return the options with the columns that Spark asks for.

    These may be fewer than those of the options if a query needs no more of them. Raises
    SettingError if a user has declared a schema with other columns.
    """
    declared = options.all_columns or tuple(schema.names)
    if declared != options.columns or any(
        field.dataType != BROKER_COLUMNS.get(field.name) for field in schema
    ):
        reason = (
            f"a schema was declared, {schema.simpleString()}, but this reads "
            f"{schema_of(options).simpleString()}: declare none, and choose with columns"
        )
        raise SettingError("columns", reason=reason)
    return replace(options, columns=tuple(schema.names))


def write_options(options: Mapping[str, str], *, is_stream: bool) -> WriteOptions:
    """Return the options of a write as values; SettingError for one that is unknown or wrong."""
    given = _known(options, WRITING)
    if is_stream and "job_id" in given:
        reason = "a stream has none; the id of its query and the number of a batch name each job"
        raise SettingError("job_id", reason=reason)
    if not is_stream and "compactEvery" in given:
        reason = "only a stream has micro-batches; `kminilog compact TOPIC` does it after a write"
        raise SettingError("compactEvery", reason=reason)
    return WriteOptions(
        _path(given, _TO_WRITE),
        given.get("topic", "").strip() or None,
        short_name(PRODUCER_SETTINGS["partitioner.class"], given.get("partitioner", "default-2.4")),
        given.get("job_id"),
        _number("lockTimeoutMs", given.get("lockTimeoutMs", str(LOCK_TIMEOUT_MS))),
        _number("compactEvery", given.get("compactEvery", "100")) if is_stream else 0,
    )


def schema_of(options: ReadOptions) -> StructType:
    """Return the chosen columns, in the order in which they were chosen.

    >>> schema_of(read_options({"path": "/log", "columns": "offset, key"})).simpleString()
    'struct<offset:bigint,key:binary>'
    """
    return StructType([StructField(column, BROKER_COLUMNS[column]) for column in options.columns])


def _known(options: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    known = {_plain(name): name for name in names}
    given = {}
    for name, text in options.items():
        if _plain(name) not in known:
            raise _unknown(name, names)
        given[known[_plain(name)]] = text
    return given


def _plain(name: str) -> str:
    """Return what counts of an option's name: `jobId` and `JOB_ID` are `job_id`."""
    return name.lower().replace("_", "")


def _unknown(name: str, names: Collection[str]) -> SettingError:
    if name.lower().startswith("kafka."):
        return SettingError(name, reason=_NO_CLIENT)
    for refused, reason in _REFUSED.items():
        if _plain(name) == _plain(refused):
            return SettingError(refused, reason=reason)
    known = sorted(set(names) - {*_NOT_OURS})
    return SettingError(name, reason=f"no such option here; {_there_is(known)}")


def _path(given: Mapping[str, str], ways: str) -> str:
    if not given.get("path"):
        raise SettingError("path", reason=f"name the log dir, {ways}")
    path = given["path"].removeprefix("file:")
    if re.match("[A-Za-z][A-Za-z0-9+.-]*:/", path):
        reason = f"{path!r} is no path of a POSIX file system: a log dir needs its rename and flock"
        raise SettingError("path", reason=reason)
    if not os.path.isabs(path):
        reason = f"{path!r} is relative; tasks run in other directories: give the whole path"
        raise SettingError("path", reason=reason)
    return path


def _topics(given: Mapping[str, str]) -> tuple[str, ...]:
    option = "subscribe" if "subscribe" in given else "topic"
    topics = _names(given, option)
    if option in given and not topics:
        raise SettingError(option, reason="no topic is named; without this option all are read")
    return topics


def _pattern(given: Mapping[str, str]) -> re.Pattern[str] | None:
    if "subscribePattern" not in given:
        return None
    try:
        return re.compile(given["subscribePattern"].strip())
    except re.error as error:
        reason = f"{given['subscribePattern']!r} is no regular expression: {error}"
        raise SettingError("subscribePattern", reason=reason) from None


def _assigned(given: Mapping[str, str]) -> Iterator[TopicPartition]:
    example = '{"orders": [0, 1], "others": [0]}'
    for topic, numbers in _json(given, "assign", example):
        if not (isinstance(numbers, list) and numbers and all(map(_is_partition, numbers))):
            raise _not_like("assign", given["assign"], example)
        yield from (TopicPartition(topic, number) for number in sorted(set(numbers)))


def _columns(given: Mapping[str, str], *, of_broker: bool) -> tuple[str, ...]:
    there = BROKER_COLUMNS if of_broker else COLUMNS
    columns = _names(given, "columns") or tuple(there)
    for column in columns:
        reason = {"headers": NO_HEADERS, "timestamp": NO_TIMESTAMPS, "timestampType": NO_TIMESTAMPS}
        if column not in there:
            missing = f"no column {column!r}; {_there_is(there)}"
            raise SettingError("columns", reason=reason.get(column, missing))
    if len(set(columns)) < len(columns):
        raise SettingError("columns", reason="a column is named twice")
    return columns


def _offsets(given: Mapping[str, str], option: str, *, is_batch: bool = False) -> PartitionOffsets:
    """Return the value of startingOffsets or endingOffsets; a batch cannot start at the end."""
    is_end = option == "endingOffsets"
    words = {"earliest": EARLIEST, "latest": LATEST}
    text = given.get(option, "latest" if is_end else "earliest").strip()
    example = '{"orders": {"0": 23, "1": -2}}'
    found: dict[TopicPartition, int] = {}
    if text.lower() not in words:
        for topic, numbers in _json({option: text}, option, example):
            if not (isinstance(numbers, dict) and numbers):
                raise _not_like(option, text, example)
            for number, offset in numbers.items():
                if not (number.isdecimal() and _is_offset(offset)):
                    raise _not_like(option, text, example)
                found[TopicPartition(topic, int(number))] = offset
    offsets = found or words[text.lower()]
    used = set(found.values()) if found else {offsets}
    if is_end and EARLIEST in used:
        raise SettingError(option, reason="nothing ends at earliest, -2; the end is latest, -1")
    if is_batch and LATEST in used:
        raise SettingError(option, reason="a batch from latest, -1, has no messages: name offsets")
    return offsets


def _json(given: Mapping[str, str], option: str, example: str) -> Iterator[tuple[str, Any]]:
    if option not in given:
        return
    try:
        found = json.loads(given[option])
    except (ValueError, RecursionError):
        found = None
    if not (isinstance(found, dict) and found):
        raise _not_like(option, given[option], example)
    yield from found.items()


def _not_like(option: str, text: str, example: str) -> SettingError:
    words = "" if option == "assign" else "'earliest', 'latest' or "
    return SettingError(option, reason=f"{text!r} is not {words}JSON like {example}")


def _is_partition(number: object) -> bool:
    return type(number) is int and number >= 0


def _is_offset(number: object) -> bool:
    return type(number) is int and EARLIEST <= number <= MAX_OFFSET


_PUSHED = "pushed."
_FILTER = re.compile(
    "(EqualTo|EqualNullSafe|In|GreaterThan|GreaterThanOrEqual|LessThan|LessThanOrEqual)"
    r"\((topic|partition|offset),(.*)\)",
    re.DOTALL,
)


def _filters(pushed: Mapping[str, str]) -> Iterator[Filter]:
    """Yield the filters of a query that bound what is read. Any other one is left to Spark.

    >>> texts = ["In(partition, [0,1])", "GreaterThan(offset,5)", "IsNotNull(key)"]
    >>> [tuple(found) for found in _filters({f"pushed.filter.{text}": text for text in texts})]
    [('partition', 'In', (0, 1)), ('offset', 'GreaterThan', (5,))]
    """
    for name, text in pushed.items():
        found = _FILTER.fullmatch(text) if name.startswith(f"{_PUSHED}filter.") else None
        if found is None:
            continue
        operator, column, value = found.groups()
        values = value.strip()[1:-1].split(",") if operator == "In" else [value]
        if column == "topic":
            yield Filter(column, operator, tuple(values))
        elif all(re.fullmatch("-?[0-9]+", each) for each in values):
            yield Filter(column, operator, tuple(map(int, values)))


_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def _seconds(name: str, text: str) -> float:
    """Return a duration in Spark's notation, in seconds; without a unit it is milliseconds.

    >>> _seconds("maxTriggerDelay", "15m"), _seconds("maxTriggerDelay", "500")
    (900, 0.5)
    """
    found = re.fullmatch(r"(\d+)(us|ms|s|m|min|h|d)?", text.strip().lower(), re.ASCII)
    if not found:
        raise SettingError(name, reason=f"{text!r} is not a duration such as 30s, 15m or 2h")
    return int(found[1]) * _SECONDS[found[2] or "ms"]


def _names(given: Mapping[str, str], name: str) -> tuple[str, ...]:
    names = (part.strip() for part in given.get(name, "").split(","))
    return tuple(filter(None, names))


def _count(given: Mapping[str, str], name: str) -> int | None:
    return _number(name, given[name], least=1) if name in given else None


def _number(name: str, text: str, *, least: int = 0) -> int:
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise SettingError(name, reason=f"{text!r} is not a whole number from {least} on")
    return int(text)


def _flag(given: Mapping[str, str], name: str, *, default: str = "true") -> bool:
    text = given.get(name, default).lower()
    if text not in ("true", "false"):
        raise SettingError(name, reason=f"{text!r} is neither 'true' nor 'false'")
    return text == "true"


def _there_is(names: Collection[str]) -> str:
    return f"there is: {', '.join(names)}"
