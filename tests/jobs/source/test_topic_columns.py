"""Messages of topics as records: exactly as they are, every byte of the segments, or one error."""

import os
import pickle
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kminilog.errors import SourceChangedError, SourceError
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.jobs.source import topic_columns
from kminilog.jobs.source.columns import columns_of
from kminilog.jobs.source.description import (
    Place,
    Source,
    check_options,
    check_outside,
    check_unchanged,
    files_of,
    locate,
)
from kminilog.jobs.source.reading_again import records_at
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.retention import delete_oldest
from kminilog.storage.topics import Topic
from kminilog.verification.both_sides import KeyValue
from tests.support.damage import encode_entries, flip_byte, message_positions
from tests.support.jobs.source.plain import records_of

SMALL = TopicSettings(segment_bytes=300, index_interval_bytes=50)
Pairs = list[tuple[bytes | None, bytes | None]]


def pairs_of(dialect: Dialect, partition: int) -> Pairs:
    """Keys and values, null and empty ones and bytes that are no text among them."""
    nothing = None if dialect is KAFKA else b""
    odd: Pairs = [(None, b""), (b"", b"v"), (b"k", nothing), (None, nothing)]
    odd += [(b"\xff\0", b"\n\xfe"), (b"long", b"\x80" * 99)]
    return [*odd, *((b"k%d" % (n % 7), b"%d of %d" % (n, partition)) for n in range(40))]


def write_topic(log_dir: Path, dialect: Dialect, partitions: int = 2) -> Source:
    topic = Topic("orders", partitions, dialect, SMALL)
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(topic)
        for place in topic.all_partitions():
            for pair in pairs_of(dialect, place.partition):
                writer.log(place).append([pair])
    return Source((f"{log_dir}:orders",), "kminilog")


@pytest.fixture
def source(tmp_path: Path, dialect: Dialect) -> Source:
    return write_topic(tmp_path / "log", dialect)


def segments(source: Source, partition: int = 0) -> list[Path]:
    log_dir = Path(source.paths[0].removesuffix(":orders"))
    return sorted((log_dir / f"orders-{partition}").glob("*.log"))


def read(source: Source) -> Pairs:
    return [(row["key"], row["value"]) for row in records_of(source)]


def test_messages_come_as_they_are_by_partition_and_offset(source, dialect):
    assert len(segments(source)) > 4
    assert read(source) == [pair for p in range(2) for pair in pairs_of(dialect, p)]


def test_pieces_of_large_segments_give_the_same_records(tmp_path, dialect, monkeypatch):
    source = write_topic(tmp_path / "log", dialect)
    expected = records_of(source)
    whole = len(columns_of(source, files_of(source)).pieces)
    monkeypatch.setattr(topic_columns, "SPLIT_BYTES", 60)
    columns = columns_of(source, files_of(source))
    assert len(columns.pieces) > 2 * whole
    assert pickle.loads(pickle.dumps(columns)).groups(2)
    assert records_of(source) == expected
    for path in segments(source):  # an index is only a hint
        path.with_suffix(".index").write_bytes(encode_entries([(1, 61), (2, 70), (3, 1 << 20)]))
    assert records_of(source) == expected
    for path in segments(source):
        path.with_suffix(".index").unlink()
    assert records_of(source) == expected


def test_places_lead_to_the_messages_again(source, dialect):
    files, records = files_of(source), records_of(source)
    places = [Place(r["source_rank"], r["source_position"], r["source_row"]) for r in records]
    assert places == sorted(places)
    found = records_at(source, files, places)
    assert [found[place] for place in places] == [KeyValue(r["key"], r["value"]) for r in records]
    lines = locate(source, files, places)
    last = segments(source, 1)[-1]
    assert lines[places[-1]] == f"{last}, offset {len(pairs_of(dialect, 1)) - 1}"
    assert lines[places[0]] == f"{segments(source)[0]}, offset 0"


def test_two_topics_follow_each_other(tmp_path):
    sources = [
        write_topic(tmp_path / name, dialect) for name, dialect in (("b", KAFKA), ("a", DOCUMENTED))
    ]
    both = Source((*sources[0].paths, *sources[1].paths), "kminilog")
    assert read(both) == read(sources[0]) + read(sources[1])


# ---- damage is said


def flipped(paths: list[Path], dialect: Dialect) -> None:
    flip_byte(paths[1], paths[1].stat().st_size // 2, mask=4)


def torn(paths: list[Path], dialect: Dialect) -> None:
    os.truncate(paths[-1], paths[-1].stat().st_size - 3)


def torn_inside(paths: list[Path], dialect: Dialect) -> None:
    os.truncate(paths[2], paths[2].stat().st_size - 3)


def cut_inside(paths: list[Path], dialect: Dialect) -> None:
    """Exactly between two messages: each of those that are left is fine."""
    os.truncate(paths[2], message_positions(paths[2].read_bytes())[-2])


def emptied(paths: list[Path], dialect: Dialect) -> None:
    os.truncate(paths[2], 0)


def segment_gone(paths: list[Path], dialect: Dialect) -> None:
    paths[2].unlink()


def end_lost(paths: list[Path], dialect: Dialect) -> None:
    """Exactly between two messages; that there were more is on record."""
    os.truncate(paths[-1], message_positions(paths[-1].read_bytes())[-2])


def more_behind(paths: list[Path], dialect: Dialect) -> None:
    with open(paths[1], "ab") as file:
        file.write(b"\0" * 40)


def written_twice(paths: list[Path], dialect: Dialect) -> None:
    data = paths[-1].read_bytes()
    paths[-1].write_bytes(data * 2)


def compressed(paths: list[Path], dialect: Dialect) -> None:
    with open(paths[-1], "ab") as file:
        file.write(encode(dialect, len(pairs_of(dialect, 0)), None, b"x", attributes=1))


@pytest.mark.parametrize("split", [1 << 20, 60])
@pytest.mark.parametrize(
    ("damage", "at", "reason"),
    [
        (flipped, 1, r"byte \d+: .*; `kminilog verify` in its log dir lists all damage"),
        (torn, -1, r"byte \d+: unfinished message"),
        (torn_inside, 2, r"byte \d+: unfinished message"),
        (cut_inside, 2, r"byte \d+: what follows begins with offset \d+, not with \d+"),
        (emptied, 2, "byte 0: what follows begins with offset"),
        (segment_gone, 1, "what follows begins with offset"),
        (end_lost, -1, r"byte \d+: offset 45 was on the disk, the log ends before"),
        (more_behind, 1, r"byte \d+: "),
        (written_twice, -1, r"byte \d+: a whole message with offset \d+, expected 46"),
        (compressed, -1, r"byte \d+: a message compressed with gzip; only `kminilog dump --deep`"),
    ],
)
def test_damage_ends_the_reading_with_its_place(
    source, dialect, monkeypatch, damage: Callable[..., None], at: int, reason: str, split: int
):
    monkeypatch.setattr(topic_columns, "SPLIT_BYTES", split)
    path = segments(source)[at]
    damage(segments(source), dialect)
    with pytest.raises(SourceError, match=reason) as caught:
        records_of(source)
    assert str(caught.value).startswith(f"source {path}: ")
    assert "\n" not in str(caught.value)


def test_log_that_has_lost_its_beginning_is_said(source):
    segments(source)[0].unlink()
    with pytest.raises(SourceError, match=r"orders-0: offsets 0 to \d+ are gone; retention"):
        files_of(source)


def test_partition_that_has_lost_all_segments_is_said(source, tmp_path):
    for path in segments(source):
        path.unlink()
    with pytest.raises(SourceError, match=r"orders-0: offsets 0 to 45 are gone; retention"):
        files_of(source)
    (tmp_path / "log" / "log-start-offset-checkpoint").unlink()
    with pytest.raises(SourceError, match=r"orders-0: offsets 0 to 45 are gone; retention"):
        files_of(source)


def test_records_say_where_their_messages_are_if_that_is_asked(source, dialect):
    records = records_of(replace(source, same_places=True))
    told = [(row["told_partition"], row["told_offset"]) for row in records]
    assert told == [(p, n) for p in range(2) for n in range(len(pairs_of(dialect, p)))]


def test_log_that_retention_has_shortened_is_fine(source, tmp_path, dialect):
    with LogDirWriter.open(tmp_path / "log") as writer:
        log = writer.log(TopicPartition("orders", 0))
        delete_oldest(log, log.segments()[:2], 0)
        first = log.log_start_offset
    assert first > 4
    assert read(source)[0] == pairs_of(dialect, 0)[first]


def test_partition_that_is_gone_is_said(source, tmp_path):
    shutil.rmtree(tmp_path / "log" / "orders-1")
    with pytest.raises(SourceError, match="no such partition directory"):
        files_of(source)


def test_messages_that_come_meanwhile_are_said(source, tmp_path):
    files = files_of(source)
    columns = columns_of(source, files)
    check_unchanged(source, files)
    with LogDirWriter.open(tmp_path / "log") as writer:
        writer.log(TopicPartition("orders", 0)).append([(b"k", b"late")])
    assert sum(len(b) for group in columns.groups(1) for b in columns.read(group)) == 2 * len(
        pairs_of(DOCUMENTED, 0)
    )
    with pytest.raises(SourceError, match="it was changed while it was read"):
        check_unchanged(source, files)


def test_segment_that_is_cut_or_deleted_meanwhile_is_said(source):
    columns = columns_of(source, files_of(source))
    path = segments(source)[1]
    os.truncate(path, message_positions(path.read_bytes())[1])
    with pytest.raises(SourceChangedError, match="it was changed while it was read"):
        list(columns.read(columns.pieces))
    path.unlink()
    with pytest.raises(SourceError, match="No such file or directory"):
        list(columns.read(columns.pieces))


# ---- which topic


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        ("{0}", "name a topic of a log dir as DIR:TOPIC"),
        ("{0}/log", "name a topic of a log dir as DIR:TOPIC"),
        (":orders", "name a topic of a log dir as DIR:TOPIC"),
        ("{0}/log:", "name a topic of a log dir as DIR:TOPIC"),
        ("{0}/none:orders", "/none is no directory"),
        ("{0}/log:views", "/log has no topic views; there is: orders"),
        ("", "name a topic of a log dir as DIR:TOPIC"),
    ],
)
def test_argument_that_names_no_topic_is_one_line(tmp_path, argument, reason):
    write_topic(tmp_path / "log", KAFKA)
    with pytest.raises(SourceError, match=reason):
        files_of(Source((argument.format(tmp_path),), "kminilog"))


def test_topic_that_is_not_there_is_named_as_it_was_typed(tmp_path, monkeypatch):
    write_topic(tmp_path / "log", KAFKA)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match=r"^source log:views: log has no topic views; "):
        files_of(Source(("log:views",), "kminilog"))


def test_topic_that_is_named_twice_is_refused(source, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "log")
    with pytest.raises(SourceError, match="another argument names this topic already"):
        files_of(Source((*source.paths, f"{tmp_path}/link:orders"), "kminilog"))


def test_another_topic_of_the_same_log_dir_may_be_read_but_not_this_one(source, tmp_path):
    files = files_of(source)
    check_outside(source, files, tmp_path / "log", "others")
    check_outside(source, files, tmp_path / "other", "orders")
    with pytest.raises(SourceError, match="the job writes to this very topic"):
        check_outside(source, files, tmp_path / "log", "orders")


def test_source_is_what_was_read_by_whatever_path(source, tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "log")
    monkeypatch.chdir(tmp_path)
    assert Source(("link:orders",), "kminilog").is_what_was_read(source.to_json()["paths"])
    assert Source(("link:orders",), "kminilog").to_json()["paths"] == [f"{tmp_path}/link:orders"]
    assert files_of(Source(("log:orders",), "kminilog")) == files_of(source)
    assert not Source(("link:views",), "kminilog").is_what_was_read(source.to_json()["paths"])


def test_places_of_records_that_have_none_are_not_compared():
    with pytest.raises(SourceError, match="records of format json have no partition and no offset"):
        check_options(Source(("x",), "json", same_places=True))


@pytest.mark.parametrize("asked", [{"key": "k"}, {"value": ""}, {"key_regex": "x"}])
@pytest.mark.parametrize("format", ["kcat", "kminilog"])
def test_key_and_value_of_messages_are_not_chosen(format, asked):
    with pytest.raises(SourceError, match=f"messages of {format} have their own key and value"):
        check_options(Source(("x",), format, **asked))
