"""Why records can be no messages; without a JVM."""

import pyarrow as pa

from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.jobs.ingest.screening import screen
from kminilog.settings import TopicSettings
from kminilog.storage.topics import Topic


def reasons(dialect, rows, **limits):
    """What is said of records, each with key, value, and why it was rejected before."""
    columns = [
        pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), KINDS, strict=True)
    ]
    records = pa.record_batch(columns, names=["key", "value", "rejected"])
    screened = screen(records, Topic("t", 1, dialect, TopicSettings(**limits)))
    assert screened.select(["key", "value"]) == records.select(["key", "value"])
    return screened.column("rejected").to_pylist()


KINDS = [pa.binary(), pa.binary(), pa.string()]
BROKEN = (None, None, "no UTF-8")


def test_screen_names_a_null_value_where_the_dialect_has_none():
    rows = [(b"k", b"v", None), (b"k", None, None), (None, b"", None), BROKEN]
    no_null = "the value is null, and the documented dialect has no null value"
    assert reasons(DOCUMENTED, rows) == [None, no_null, None, "no UTF-8"]
    assert reasons(KAFKA, rows) == [None, None, None, "no UTF-8"]


def test_screen_names_a_message_above_a_limit_by_its_size_with_headers(dialect):
    overhead = 22 if dialect is DOCUMENTED else 26
    rows = [(b"kk", b"v" * (100 - overhead - 2 + more), None) for more in (0, 1)]
    text = "a message of 101 bytes is larger than {} = 100"
    for setting in ("max.message.bytes", "segment.bytes"):
        found = reasons(dialect, [*rows, BROKEN], **{setting.replace(".", "_"): 100})
        assert found == [None, text.format(setting), "no UTF-8"]
    found = reasons(dialect, rows, max_message_bytes=100, segment_bytes=50)
    second = "a message of 100 bytes is larger than segment.bytes = 50"
    assert found == [second, text.format("max.message.bytes")]


def test_screen_of_nothing_is_nothing(dialect):
    records = pa.record_batch([pa.array([], kind) for kind in KINDS], ["key", "value", "rejected"])
    assert len(screen(records, Topic("t", 1, dialect))) == 0
