"""The file with every finding: it equals a plain comparison, and the counts of the report."""

import json
import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from kminilog.clock import ManualClock
from kminilog.errors import LogDirError, SourceError
from kminilog.format.hashing import murmur2, to_positive
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source import pieces
from kminilog.jobs.source.description import DATAFRAME, Source
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.account import findings_file
from kminilog.verification.account.engine import Engine, LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.account.spark import SparkEngine
from kminilog.verification.fast_segment_checks import check_segment as fast_check
from kminilog.verification.findings import ROW_TYPES, SAMPLE_COUNT, Finding, FindingClass
from kminilog.verification.report import Report
from kminilog.verification.segment_checks import check_segment as plain_check
from tests.support.damage import cut_to, flip_byte, message_positions
from tests.support.log_content import Content, KeyValue, content_of, write_anew
from tests.support.spark import ON_SPARK

RECORDS, PARTITIONS = 3000, 3
SMALL = TopicSettings(segment_bytes=20_000, index_interval_bytes=100)


def line_of(number: int) -> bytes:
    row = {"user": f"u{number * 7919 % 500}", "amount": f"{number}.50", "note": "größer"}
    return json.dumps(row, ensure_ascii=False).encode()


@pytest.fixture(autouse=True)
def _in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 10_000)
    monkeypatch.setattr(findings_file, "_BLOCK_BYTES", 10_000)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(map(line_of, range(RECORDS))))
    return Source((str(path),), "json", key="user")


def ingested(tmp_path: Path, source: Source, dialect: Any) -> Path:
    options: dict[str, Any] = {"partitions": PARTITIONS, "dialect": dialect, "settings": SMALL}
    ingest_with(LocalIngest(), tmp_path / "one", source, topic="t", job_id="j", **options)
    return tmp_path / "one"


def damaged(content: Content) -> None:
    """Of each partition: every 9th message altered, every 13th dropped, every 17th one invented."""
    for messages in content.values():
        for slot in range(0, len(messages), 9):
            key, value = messages[slot]
            messages[slot] = key, (value or b"").replace(b".50", b".5")
        for slot in reversed(range(5, len(messages), 13)):
            del messages[slot]
        for number, slot in enumerate(range(0, len(messages), 17)):
            messages.insert(slot, (b"u1", b"invented %d" % number))


Slot = tuple[list[tuple[int, KeyValue]], list[tuple[int, KeyValue]]]


def pairs_in(slot: Slot) -> dict[int, int]:
    """Which record of a slot is which message: equal keys first, the rest between these pairs."""
    records, messages = slot
    pairs: dict[int, int] = {}
    for offset, (key, _) in messages:
        same = [line for line, record in records if record[0] == key and line not in pairs.values()]
        if same:
            pairs[offset] = same[0]

    def rest(side: list[tuple[int, KeyValue]], paired: Any) -> list[tuple[int, int]]:
        places = [place for place, _ in side]
        left = [place for place in places if place not in paired]
        return [(sum(one < place for one in places if one in paired), place) for place in left]

    lines, offsets = rest(records, {*pairs.values()}), rest(messages, {*pairs})
    for before in {before for before, _ in lines}:
        here = ([place for count, place in side if count == before] for side in (offsets, lines))
        pairs |= dict(zip(*here, strict=False))
    return pairs


def compared(source: list[KeyValue], content: Content) -> set[tuple[Any, ...]]:
    """What differs: (class, partition, offset, line of the source), by plain sets and lists."""
    found: set[tuple[Any, ...]] = set()
    home: dict[int, list[tuple[int, KeyValue]]] = {partition: [] for partition in content}
    for line, record in enumerate(source, 1):
        home[to_positive(murmur2(record[0] or b"")) % len(content)].append((line, record))
    for partition, messages in content.items():
        records = home[partition]
        both = {record for _, record in records} & set(messages)
        slots: dict[int, Slot] = defaultdict(lambda: ([], []))
        for side, rows in enumerate((records, [*enumerate(messages)])):
            before = 0
            for place, row in rows:
                before += row in both
                if row not in both:
                    slots[before][side].append((place, row))
        for slot in slots.values():
            pairs = pairs_in(slot)
            found |= {("altered", partition, offset, line) for offset, line in pairs.items()}
            alone = {line for line, _ in slot[0]} - {*pairs.values()}
            found |= {("missing", partition, None, line) for line in alone}
            alone = {offset for offset, _ in slot[1]} - {*pairs}
            found |= {("extra", partition, offset, None) for offset in alone}
    return found


def differences(record: KeyValue, message: KeyValue) -> list[tuple[str, str, str]]:
    (key, value), (other_key, other) = ((k or b"", v or b"") for k, v in (record, message))
    found = [("key", key.decode(), other_key.decode())] if key != other_key else []
    if not other.startswith(b"{"):
        return [*found, ("value", value.decode(), other.decode())]
    one, two = json.loads(value), json.loads(other)
    return [*found, *((name, one[name], two[name]) for name in one if one[name] != two[name])]


def rows_of(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def check(log_dir: Path, engine: Engine, **options: Any) -> Report:
    return verify_with(engine, ManualClock(), LogDir(log_dir), ["t"], **options)


def counts(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(row["class"] for row in rows)


def totals(report: Report) -> dict[str, int]:
    return {kind.value: count for kind, count in report.tally.counts().items()}


@pytest.mark.processes
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
@pytest.mark.parametrize("name", ["local", pytest.param("spark", marks=ON_SPARK)])
def test_findings_file_equals_an_independent_comparison(
    tmp_path, source, dialect, name, ending, request
):
    log_dir = write_anew(ingested(tmp_path, source, dialect), tmp_path / "two", "t", damaged)
    spark = request.getfixturevalue("spark") if name == "spark" else None
    engine = SparkEngine(spark) if spark else LocalEngine()
    path = tmp_path / f"every.{ending}"
    report = check(log_dir, engine, against=source, findings=path)
    rows = rows_of(path)
    assert counts(rows) == totals(report)
    # Others are ranges of the job, and what the storage checks say of the invented keys.
    kinds = ("altered", "missing", "extra")
    messages = [row for row in rows if row["class"] in kinds and row["last_offset"] is None]
    found = {
        (row["class"], row["partition"], row["offset"], row["source_line"]) for row in messages
    }
    records = [(json.loads(line)["user"].encode(), line) for line in map(line_of, range(RECORDS))]
    content = content_of(log_dir, "t")
    expected = compared(records, content)
    assert found == expected
    assert min(counts(messages)[kind] for kind in kinds) > SAMPLE_COUNT
    for row in messages:
        if row["class"] == "altered":
            key, value = content[row["partition"]][row["offset"]]
            assert row["key"] == (key or b"").decode()
            assert (row["source_file"], row["source_row"]) == (source.paths[0], None)
            differing = differences(records[row["source_line"] - 1], (key, value))
            assert row["columns"] == [name for name, *_ in differing]
            assert re.search(
                r"; .*byte \d+ of the (key|value) is .., in the source ..$", row["detail"]
            )
            assert row["differs"] == ", ".join("{}: {} ≠ {}".format(*one) for one in differing)
        if row["class"] == "missing":
            data = Path(row["source_file"]).read_bytes()[row["source_position"] :]
            assert data.split(b"\n")[0] == line_of(row["source_line"] - 1)
    assert len({row["id"] for row in rows}) == len(rows)


def test_rows_of_a_dataframe_have_their_place_in_it(tmp_path, source, dialect, spark):
    log_dir = write_anew(ingested(tmp_path, source, dialect), tmp_path / "two", "t", damaged)
    schema = "key binary, value binary"
    records = [(json.loads(line)["user"].encode(), line) for line in map(line_of, range(RECORDS))]
    frame = spark.createDataFrame(records, schema)
    engine = SparkEngine(spark, frame)
    path = tmp_path / "every.jsonl"
    report = check(log_dir, engine, against=DATAFRAME, findings=path)
    rows = rows_of(path)
    assert counts(rows) == totals(report)
    missing = [row for row in rows if row["class"] == "missing"]
    assert {row["source_file"] for row in missing} == {str(DATAFRAME)}
    keys = dict(frame.selectExpr("monotonically_increasing_id()", "string(key)").collect())
    assert [keys[row["source_row"] - 1] for row in missing] == [row["key"] for row in missing]


def test_report_yields_findings_and_gives_them_as_a_dataframe(tmp_path, source, dialect, spark):
    log_dir = write_anew(ingested(tmp_path, source, dialect), tmp_path / "two", "t", damaged)
    frames = []
    for ending in ("jsonl", "parquet"):
        report = check(
            log_dir, SparkEngine(spark), against=source, findings=tmp_path / f"every.{ending}"
        )
        frame = report.findings.to_frame(spark)
        assert frame.columns == list(ROW_TYPES)
        by_class = {row["class"]: row["count"] for row in frame.groupBy("class").count().collect()}
        assert by_class == totals(report)
        amounts = frame.where("array_contains(columns, 'amount')")
        assert amounts.count() > SAMPLE_COUNT
        rows = sorted(report.findings, key=lambda row: row["id"])
        assert rows == [row.asDict() for row in frame.orderBy("id").collect()]
        frames.append(rows)
    assert frames[0] == frames[1]


def test_report_without_a_file_says_how_to_get_every_finding(tmp_path, source, dialect):
    report = check(ingested(tmp_path, source, dialect), LocalEngine())
    with pytest.raises(ValueError, match="verify with findings=FILE"):
        assert report.findings


# ---- the storage checks


def overwritten(log: Path, dialect: Any) -> None:
    """More bad messages in one segment than a report shows."""
    for position in message_positions(log.read_bytes())[1:-1:3]:
        flip_byte(log, position + 30, mask=4)


def misplaced(log: Path, dialect: Any) -> None:
    """The index points between messages."""
    index = log.with_suffix(".index")
    for position in range(15, index.stat().st_size, 16):
        flip_byte(index, position, mask=1)


def shortened(log: Path, dialect: Any) -> None:
    """Entries point past the end: they are no findings of their own."""
    cut_to(log, message_positions(log.read_bytes())[5])


@pytest.mark.processes
@pytest.mark.parametrize(
    "checked_by", [fast_check, plain_check, pytest.param("spark", marks=ON_SPARK)]
)
@pytest.mark.parametrize("damage", [overwritten, misplaced, shortened])
def test_findings_of_segments_are_all_in_the_file(
    tmp_path, source, dialect, damage, checked_by, request
):
    log_dir = ingested(tmp_path, source, dialect)
    logs = sorted((log_dir / "t-1").glob("*.log"))
    damage(logs[-1] if damage is shortened else logs[0], dialect)
    path = tmp_path / "every.jsonl"
    engine: Engine = LocalEngine(checked_by) if callable(checked_by) else LocalEngine()
    if checked_by == "spark":
        engine = SparkEngine(request.getfixturevalue("spark"))
    report = check(log_dir, engine, findings=path, strict_index=True)
    rows = rows_of(path)
    assert counts(rows) == totals(report)
    assert len({row["id"] for row in rows}) == len(rows)
    if damage is not shortened:
        assert max(totals(report).values()) > 2 * SAMPLE_COUNT


def test_keys_in_a_wrong_partition_are_all_named(tmp_path, source, dialect):
    def exchange(content: Content) -> None:
        content[0], content[1] = content[1], content[0]

    log_dir = write_anew(ingested(tmp_path, source, dialect), tmp_path / "two", "t", exchange)
    path = tmp_path / "every.jsonl"
    report = check(log_dir, LocalEngine(), findings=path, partitioner="default-2.4")
    rows = [row for row in rows_of(path) if row["class"] == "wrong-partition"]
    content = content_of(log_dir, "t")
    assert len(rows) == totals(report)["wrong-partition"] == len(content[0]) + len(content[1])
    for row in rows:
        assert row["key"].encode() == content[row["partition"]][row["offset"]][0]


# ---- all of it or nothing


def test_log_without_a_fault_gives_an_empty_file(tmp_path, source, dialect):
    log_dir = ingested(tmp_path, source, dialect)
    for ending in ("jsonl", "parquet"):
        path = tmp_path / f"every.{ending}"
        assert check(log_dir, LocalEngine(), against=source, findings=path).verdict == "ok"
        assert rows_of(path) == []


def fails(*arguments: Any) -> Any:
    raise SourceError("rows", reason="gone")


def test_failed_verification_leaves_the_file_that_was_there(tmp_path, source, dialect):
    log_dir = write_anew(ingested(tmp_path, source, dialect), tmp_path / "two", "t", damaged)
    path = tmp_path / "out" / "every.jsonl"
    path.parent.mkdir()
    path.write_text("before\n")
    path.chmod(0o640)
    engine: Any = LocalEngine()
    engine.columns = fails
    with pytest.raises(SourceError):
        check(log_dir, engine, against=source, findings=path)
    assert path.read_text() == "before\n"
    assert os.listdir(path.parent) == ["every.jsonl"]
    check(log_dir, LocalEngine(), against=source, findings=path)
    assert rows_of(path)
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(path.parent) == ["every.jsonl"]


def test_findings_file_is_refused_in_a_log_dir_and_with_another_ending(tmp_path, source, dialect):
    log_dir = ingested(tmp_path, source, dialect)
    with pytest.raises(LogDirError, match="it is in the log dir"):
        check(log_dir, LocalEngine(), findings=log_dir / "every.jsonl")
    with pytest.raises(ValueError, match=r"must end in \.jsonl or \.parquet"):
        check(log_dir, LocalEngine(), findings=tmp_path / "every.csv")


def test_part_that_is_not_to_be_seen_here_is_said_in_one_line(tmp_path, source, dialect):
    log_dir = ingested(tmp_path, source, dialect)
    engine: Any = LocalEngine()
    check_here = engine.check_segment

    def on_another_host(*arguments: Any, rest: Any, **options: Any) -> Any:
        part = str(rest.__self__.directory / "elsewhere")
        found = Finding(FindingClass.BAD_CRC, "t", 0, "x", offset=1, rest=part)
        return check_here(*arguments, rest=rest, **options)._replace(findings=[found])

    engine.check_segment = on_another_host
    with pytest.raises(LogDirError, match="that all executors share"):
        check(log_dir, engine, findings=tmp_path / "every.jsonl")
    assert not (tmp_path / "every.jsonl").exists()
