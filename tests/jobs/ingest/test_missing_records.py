"""What is missing is loaded, and nothing else: however the source has changed since it was seen."""

import json
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kminilog.clock import ManualClock
from kminilog.errors import KMiniLogError, PublicationError, SourceError
from kminilog.jobs.ingest.job import IngestEngine, IngestResult, ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source import pieces
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import SparkIngest
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.account.engine import LocalEngine
from kminilog.verification.account.job import verify_with
from tests.support.log_content import Content, KeyValue, content_of, write_anew
from tests.support.spark import ON_SPARK
from tests.verification.account.test_shown_samples import PAIRS, write_source

KINDS = ["txt", "txt.gz", "csv", "json", "parquet", "kcat", "kminilog"]
GONE = [5, 40, 41, 119]
EQUAL_SIZE = "valuE 41, größe 1681"
Pairs = list[tuple[str, str]]


@pytest.fixture(autouse=True)
def _in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "SPLIT_BYTES", 500)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


def engine_of(name: str, request: pytest.FixtureRequest) -> IngestEngine:
    return LocalIngest() if name == "local" else SparkIngest(request.getfixturevalue("spark"))


def lost(pairs: Pairs, numbers: list[int]) -> list[KeyValue]:
    return [(pairs[number][0].encode(), pairs[number][1].encode()) for number in numbers]


def with_findings(tmp_path: Path, source: Source, gone: list[int], name: str = "f.jsonl") -> Path:
    """Ingest a source, take some messages out of the log, and let `verify` name them."""
    every = lost(PAIRS, gone)

    def drop(content: Content) -> None:
        for messages in content.values():
            messages[:] = [one for one in messages if (one[0], without_text(one[1])) not in every]

    ingest_with(LocalIngest(), tmp_path / "one", source, topic="t", partitions=2, job_id="j")
    log_dir = write_anew(tmp_path / "one", tmp_path / "two", "t", drop)
    report = check(log_dir, source, findings=tmp_path / name)
    assert report.conservation["missing"] == len(gone)
    return log_dir


def without_text(value: bytes | None) -> bytes:
    """The value of a record, also if the value is the whole line of a text."""
    return re.sub(rb"^k\d:", b"", value or b"")


def check(log_dir: Path, source: Source, **options: Any) -> Any:
    clock = ManualClock()
    return verify_with(LocalEngine(), clock, LogDir(log_dir), ["t"], against=source, **options)


def lines_of(findings: Path) -> list[str]:
    """The lines of missing records."""
    return [line for line in findings.read_text().splitlines() if '"class": "missing"' in line]


def load(log_dir: Path, source: Source, only: Path, **options: Any) -> IngestResult:
    engine = options.pop("engine", LocalIngest())
    options = {"topic": "t", **options}
    return ingest_with(engine, log_dir, replace(source, only=str(only)), **options)


def inserted(pairs: Pairs) -> None:
    pairs.insert(0, ("k0", "a new one"))


def inserted_of_equal_size(pairs: Pairs) -> None:
    pairs.insert(40, ("k5", "value XX, größe XXXX"))


def removed(pairs: Pairs) -> None:
    del pairs[3]


def removed_itself(pairs: Pairs) -> None:
    del pairs[119]


def swapped(pairs: Pairs) -> None:
    pairs[41], pairs[42] = pairs[42], pairs[41]


def altered(pairs: Pairs) -> None:
    pairs[41] = pairs[41][0], EQUAL_SIZE


def emptied(pairs: Pairs) -> None:
    pairs[1:] = []


CHANGES = [
    inserted, inserted_of_equal_size, removed, removed_itself, swapped, altered, emptied
]  # fmt: skip
CASES = [
    pytest.param(
        kind, name, change, id=f"{kind}-{name}-{change.__name__}", marks=marks if marks else ()
    )
    for kind in KINDS
    for name, changes, marks in (
        ("local", CHANGES, ()),
        ("spark", [inserted, altered], ON_SPARK),
    )
    for change in changes
]


@pytest.mark.parametrize(("kind", "name", "change"), CASES)
def test_source_that_has_changed_gives_one_line_and_loads_nothing(
    tmp_path: Path,
    request: pytest.FixtureRequest,
    kind: str,
    name: str,
    change: Callable[[Pairs], None],
) -> None:
    source = write_source(kind, tmp_path)
    log_dir = with_findings(tmp_path, source, GONE)
    before, findings, changed = content_of(log_dir, "t"), tmp_path / "f.jsonl", list(PAIRS)
    file = Path(json.loads(lines_of(findings)[0])["source_file"])
    status = file.stat()
    change(changed)
    if kind == "kminilog":
        shutil.rmtree(tmp_path / f"a.{kind}")
    write_source(kind, tmp_path, changed)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    plan = "sorted" if change is altered else "runs"
    with pytest.raises(KMiniLogError) as caught:
        load(log_dir, source, findings, engine=engine_of(name, request), plan=plan)
    said = (
        rf"source {findings}: {file}(: no record begins at (row|byte) \d+"
        rf"|, (line|row|offset) \d+: this is not the record that is missing)"
        r"; the source has changed since, or other options read it: run `verify --findings` again"
    )
    assert re.fullmatch(said, str(caught.value)), str(caught.value)
    assert content_of(log_dir, "t") == before
    if change is removed_itself:
        last = max(map(json.loads, lines_of(findings)), key=lambda row: row["source_position"] or 0)
        where = "row 120" if source.has_rows else f"byte {last['source_position']}"
        assert f"{file}: no record begins at {where}; " in str(caught.value)
    if change is altered and kind != "txt.gz":
        place = {"csv": "row", "parquet": "row", "kminilog": "offset"}.get(kind, "line")
        number = 41 if kind == "kminilog" else 83 if kind in ("json", "kcat") else 42
        assert re.search(rf"{place} {number}: ", str(caught.value)), str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["local", pytest.param("spark", marks=ON_SPARK)])
@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_just_the_missing_records_are_loaded_and_only_once(tmp_path, kind, name, ending, request):
    source = write_source(kind, tmp_path)
    log_dir = with_findings(tmp_path, source, GONE, f"f.{ending}")
    before, findings = content_of(log_dir, "t"), tmp_path / f"f.{ending}"
    engine = engine_of(name, request)
    done = load(log_dir, source, findings, engine=engine)
    after = content_of(log_dir, "t")
    new = [m for partition, messages in after.items() for m in messages[len(before[partition]) :]]
    assert sorted((key, without_text(value)) for key, value in new) == sorted(lost(PAIRS, GONE))
    assert not done.already_committed
    assert check(log_dir, source).conservation["missing"] == 0
    again = load(log_dir, source, findings, engine=engine)
    assert (again.already_committed, again.manifest.job_id) == (True, done.manifest.job_id)
    assert content_of(log_dir, "t") == after


def test_another_record_that_has_changed_at_equal_size_does_not_matter(tmp_path):
    source, changed = write_source("txt", tmp_path), list(PAIRS)
    log_dir = with_findings(tmp_path, source, GONE)
    changed[42] = changed[42][0], changed[42][1].replace("value", "valuE")
    write_source("txt", tmp_path, changed)
    assert load(log_dir, source, tmp_path / "f.jsonl").manifest.facts["count"] == len(GONE)


def test_files_in_another_order_give_the_same_records(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text("".join(f"{k}:{v} of {name}\n" for k, v in PAIRS))
    paths = tuple(str(tmp_path / name) for name in ("a", "b"))
    source = Source(paths, key_regex="^([^:]*):")
    ingest_with(LocalIngest(), tmp_path / "one", source, topic="t", partitions=2, job_id="j")
    gone = [f"{PAIRS[7][0]}:{PAIRS[7][1]} of {name}".encode() for name in ("a", "b")][1:]

    def drop(content: Content) -> None:
        for messages in content.values():
            messages[:] = [one for one in messages if one[1] not in gone]

    log_dir = write_anew(tmp_path / "one", tmp_path / "two", "t", drop)
    check(log_dir, source, findings=tmp_path / "f.jsonl")
    other = replace(source, paths=paths[::-1])
    done = load(log_dir, other, tmp_path / "f.jsonl")
    assert done.manifest.facts["count"] == 1
    assert check(log_dir, source).conservation["missing"] == 0


def test_other_options_than_those_of_the_verification_load_nothing(tmp_path):
    source = write_source("csv", tmp_path)
    log_dir = with_findings(tmp_path, source, GONE)
    before = content_of(log_dir, "t")
    for other in ({"key": None}, {"value": None}, {"header": False, "key": "_c0", "value": "_c1"}):
        with pytest.raises(KMiniLogError, match="or other options read it"):
            load(log_dir, replace(source, **other), tmp_path / "f.jsonl")
    assert content_of(log_dir, "t") == before


def test_missing_record_that_cannot_be_decoded_is_rejected_or_was_another(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"a": "1"}\n')
    source = Source((str(path),), "json", value="a")
    ingest_with(LocalIngest(), tmp_path / "log", source, topic="t", job_id="j")
    path.write_text('{"a": "1"}\n{"a": 2"}\n')
    assert check(tmp_path / "log", source, findings=tmp_path / "f.jsonl").conservation["missing"]
    with pytest.raises(SourceError, match=r"a\.json, line 2: .*; 1 rejected in all"):
        load(tmp_path / "log", source, tmp_path / "f.jsonl")
    path.write_text('{"a": "1"}\n{"a":"2"}\n')
    with pytest.raises(KMiniLogError, match=r"line 2: this is not the record that is missing"):
        load(tmp_path / "log", source, tmp_path / "f.jsonl")
    path.write_text('{"a": "1"}\n{"a": 2"}\n')
    done = load(tmp_path / "log", source, tmp_path / "f.jsonl", max_rejected=1)
    assert (done.manifest.facts["count"], done.manifest.facts["rejected"]) == (0, 1)


def test_findings_of_another_topic_are_refused(tmp_path):
    source = write_source("txt", tmp_path)
    log_dir = with_findings(tmp_path, source, GONE)
    reason = "f.jsonl: it lists missing records of topic t, not of topic u"
    with pytest.raises(SourceError, match=reason):
        load(log_dir, source, tmp_path / "f.jsonl", topic="u")
    assert [topic.name for topic in LogDir(log_dir).topics()] == ["t"]


def test_records_are_the_identity_of_a_job_and_the_file_is_not(tmp_path):
    source = write_source("csv", tmp_path)
    log_dir = with_findings(tmp_path, source, GONE)
    load(log_dir, source, tmp_path / "f.jsonl", job_id="repair")
    rows = lines_of(tmp_path / "f.jsonl")
    saved = [dict(reversed(json.loads(row).items())) for row in reversed(rows)]
    (tmp_path / "g.jsonl").write_text("".join(json.dumps(row) + "\n" for row in saved))
    assert load(log_dir, source, tmp_path / "g.jsonl", job_id="repair").already_committed
    (tmp_path / "f.jsonl").write_text("\n".join(rows[:2]))
    with pytest.raises(PublicationError, match="a job that was to load other missing records"):
        load(log_dir, source, tmp_path / "f.jsonl", job_id="repair")
    with pytest.raises(PublicationError, match=r"with only = .*f\.jsonl, not None"):
        ingest_with(LocalIngest(), log_dir, source, topic="t", job_id="repair")


def test_findings_file_that_changes_meanwhile_is_refused(tmp_path):
    source = write_source("txt", tmp_path)
    log_dir = with_findings(tmp_path, source, GONE)
    before, findings = content_of(log_dir, "t"), tmp_path / "f.jsonl"

    class Meddling(LocalIngest):
        def stage(self, *args: Any) -> Any:
            findings.write_text("\n".join(lines_of(findings)[:2]))
            return super().stage(*args)

    with pytest.raises(SourceError, match=r"f\.jsonl: it was changed while it was read"):
        load(log_dir, source, findings, engine=Meddling())
    assert content_of(log_dir, "t") == before
