"""The options of the data source `kminilog`, from texts to values, or one clear error.

Names follow Spark's style, and their case does not matter. An unknown option is an error, because
it is mostly a typing error that would change what is read. This module does not look into a log
dir.

The options of a table in Spark's catalog are kept in its schema, as Spark does not pass them on:

    CREATE TABLE orders USING kminilog OPTIONS (topic 'orders') LOCATION '/log'
    schema      Spark passes the whole statement, each option twice: topic, option.topic
    queries     Spark passes that schema, and only the options of the query itself

So the columns keep the options as metadata. A read gets the table's columns. A write gets the
columns of the rows. These have the table's metadata only if Spark had to adapt the rows to the
table. Else they have no metadata, or that of the table that the rows come from! So a write counts
as one to a table only if Spark must have adapted it. Then all columns have the same options, and
one of them has no value in any row, because only the log assigns it (writer.py). A read or a write
that names a log dir itself does not use a table. Source: ours; Spark 4.3: PythonTableProvider,
V2WriteCommand.outputResolved.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from kminilog.config import short_name
from kminilog.errors import SettingError
from kminilog.format.names import MAX_OFFSET
from kminilog.jobs.ingest.job_writer import LOCK_TIMEOUT_MS
from kminilog.producer_settings import PRODUCER_SETTINGS

# ---- of the data source


COLUMNS = {
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "position": LongType(),
    "key": BinaryType(),
    "value": BinaryType(),
    "segment": StringType(),
}
EARLIEST, LATEST = "earliest", "latest"
_BOTH = ("path", "topic", "columns", "cores", "failOnDataLoss", "allowGaps")
READING = (*_BOTH, "failOnDamage", "partitions", "startOffset", "endOffset")
STREAMING = (*_BOTH, "startingOffsets", "maxOffsetsPerTrigger")
_NOT_OURS = ("checkpointLocation", "queryName")  # Spark hands them on
WRITING = ("path", "topic", "partitioner", "job_id", "lockTimeoutMs", "compactEvery", *_NOT_OURS)


_TO_READ = "as in load(log_dir), or with LOCATION of a table that is created without columns"
_TO_WRITE = (
    "as in save(log_dir); in SQL first create a table, declare no columns and choose none, then "
    "name those that you write, as in INSERT INTO t (key, value)"
)


@dataclass(frozen=True)
class ReadOptions:
    """What is read, and how. No topics means all topics; no partitions means all partitions."""

    log_dir: str
    topics: tuple[str, ...]
    columns: tuple[str, ...]
    cores: int
    fail_on_damage: bool
    fail_on_data_loss: bool
    allows_gaps: bool
    starts_at_end: bool
    max_offsets: int | None
    partitions: tuple[int, ...]
    start_offset: int
    end_offset: int


@dataclass(frozen=True)
class WriteOptions:
    """Where messages go. Without a job id, each write is a new job."""

    log_dir: str
    topic: str
    partitioner: str
    job_id: str | None
    lock_timeout_ms: int
    compact_every: int


def read_options(options: Mapping[str, str], *, is_stream: bool | None = None) -> ReadOptions:
    """Return the options of a read as values; SettingError for one that is unknown or wrong.

    `is_stream` None means that it is not known yet: then the options of both kinds may be given.
    """
    names = {None: {*READING, *STREAMING}, False: READING, True: STREAMING}
    given = _known(options, names[is_stream])
    columns = _names(given, "columns") or tuple(COLUMNS)
    for column in columns:
        if column not in COLUMNS:
            raise SettingError("columns", reason=f"no column {column!r}; {_there_is(COLUMNS)}")
    if len(set(columns)) < len(columns):
        raise SettingError("columns", reason="a column is named twice")
    if not _flag(given, "failOnDamage") and {"startOffset", "endOffset"} & given.keys():
        reason = "where damage is, no offset can be relied on: leave out startOffset and endOffset"
        raise SettingError("failOnDamage", reason=reason)
    starting = given.get("startingOffsets", EARLIEST).lower()
    if starting not in (EARLIEST, LATEST):
        reason = f"{starting!r} is neither {EARLIEST!r} nor {LATEST!r}"
        raise SettingError("startingOffsets", reason=reason)
    return ReadOptions(
        _path(given, _TO_READ),
        _names(given, "topic"),
        columns,
        _count(given, "cores") or os.cpu_count() or 1,
        _flag(given, "failOnDamage"),
        _flag(given, "failOnDataLoss"),
        _flag(given, "allowGaps", default="false"),
        starting == LATEST,
        _count(given, "maxOffsetsPerTrigger"),
        tuple(_number("partitions", name) for name in _names(given, "partitions")),
        _number("startOffset", given.get("startOffset", "0")),
        _number("endOffset", given.get("endOffset", str(MAX_OFFSET + 1))),
    )


def check_table_options(options: Mapping[str, str]) -> ReadOptions:
    """Return a table's options of reads as values; SettingError for one that is unknown or wrong.

    Values of options of writes are checked at the first write.
    """
    known = _known(options, {*READING, *STREAMING, *WRITING})
    if "job_id" in known:
        reason = "each INSERT is a job: name it there, INSERT INTO t WITH (job_id = 'j') ..."
        raise SettingError("job_id", reason=reason)
    reading = {*READING, *STREAMING}
    return read_options({name: text for name, text in known.items() if name in reading})


def check_schema(options: ReadOptions, schema: StructType) -> None:
    """Raise SettingError if a declared schema differs from the columns that will be read."""
    if [(field.name, field.dataType) for field in schema] != [
        (field.name, field.dataType) for field in schema_of(options)
    ]:
        reason = (
            f"a schema was declared, {schema.simpleString()}, but this reads "
            f"{schema_of(options).simpleString()}: declare none, and choose with columns"
        )
        raise SettingError("columns", reason=reason)


def write_options(options: Mapping[str, str], *, is_stream: bool) -> WriteOptions:
    """Return the options of a write as values; SettingError for one that is unknown or wrong."""
    given = _known(options, WRITING)
    if is_stream and "job_id" in given:
        reason = "a stream has none; the id of its query and the number of a batch name each job"
        raise SettingError("job_id", reason=reason)
    if not is_stream and "compactEvery" in given:
        reason = "only a stream has micro-batches; `kminilog compact TOPIC` does it after a write"
        raise SettingError("compactEvery", reason=reason)
    path = _path(given, _TO_WRITE)
    if not given.get("topic"):
        raise SettingError("topic", reason="name the topic to write to")
    return WriteOptions(
        path,
        given["topic"],
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
    return StructType([StructField(column, COLUMNS[column]) for column in options.columns])


def _known(options: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    by_lower_case = {name.lower(): name for name in names}
    given = {}
    for name, text in options.items():
        if name.lower() not in by_lower_case:
            known = sorted(set(names) - {*_NOT_OURS})
            raise SettingError(name, reason=f"no such option here; {_there_is(known)}")
        given[by_lower_case[name.lower()]] = text
    return given


def _path(given: Mapping[str, str], ways: str) -> str:
    if not given.get("path"):
        raise SettingError("path", reason=f"name the log dir, {ways}")
    path = given["path"].removeprefix("file:")
    if not os.path.isabs(path):
        reason = f"{path!r} is relative; tasks run in other directories: give the whole path"
        raise SettingError("path", reason=reason)
    return path


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


# ---- of a table


_KEY = "kminilog.options"
_ONLY_OF_TABLES = "provider"  # Spark passes it for CREATE TABLE only
_OPTION = "option."


def defined_options(options: Mapping[str, str]) -> dict[str, str] | None:
    """Return the OPTIONS and the LOCATION of CREATE TABLE; None for any other statement."""
    if _ONLY_OF_TABLES not in options:
        return None
    by_lower_case = {name.lower(): text for name, text in options.items()}
    given = {
        name.removeprefix(_OPTION): text
        for name, text in by_lower_case.items()
        if name.startswith(_OPTION)
    }
    if "path" in by_lower_case:  # of LOCATION or of OPTIONS; Spark has made it a URI
        given["path"] = unquote(by_lower_case["path"])
    return given


def keep_options(schema: StructType, options: Mapping[str, str]) -> StructType:
    """Return the schema, after putting the options of a table into each of its columns."""
    for field in schema.fields:
        field.metadata = {_KEY: dict(options)}
    return schema


def kept_options(options: Mapping[str, str], schema: StructType) -> dict[str, str] | None:
    """Return the options of the table that a read or a write uses; None if it uses none."""
    kept = [dict(field.metadata.get(_KEY, {})) for field in schema.fields]
    if "path" in options or not kept or any(theirs != kept[0] for theirs in kept):
        return None
    return kept[0] or None


def options_in_use(
    options: Mapping[str, str], schema: StructType, names: Collection[str]
) -> dict[str, str]:
    """Return the options of a read or a write, completed with those of its table.

    Its own options win. A table has options for both reads and writes, so only the table's options
    that are in `names` are taken.
    """
    wanted = {name.lower() for name in names}
    kept = kept_options(options, schema) or {}
    over = {name.lower(): text for name, text in options.items()}
    return {name: text for name, text in kept.items() if name in wanted} | over
