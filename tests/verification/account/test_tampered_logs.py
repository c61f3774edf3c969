"""Who tampers with a log or its source is found out, exactly: by each engine, in each step.

The tamperer imports nothing of kminilog, and states what has to be found (tamperer.py, changes.py).
Each report must have just these findings, and the equation that they make. The reports of both
engines, with the two steps and with the full account, must be the same.
"""

import ast
import json
from collections.abc import Callable, Sequence
from functools import cache
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest

from kminilog.clock import ManualClock
from kminilog.format.dialect import DIALECTS
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import Source
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.publish import fingerprints
from kminilog.verification import findings
from kminilog.verification.account import account, alterations
from kminilog.verification.account.engine import Engine, LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.account.spark import SparkEngine
from kminilog.verification.report import Report
from tests.support.damage import files_of, restore
from tests.support.verification.account.changes import (
    CHANGES,
    LOG_CHANGES,
    RANGE,
    SOURCE_CHANGES,
    Expected,
    Spot,
)
from tests.support.verification.account.tamperer import FORMATS, KEY_REGEX, LogFiles, SourceFile

SUPPORT = Path(__file__).parents[2] / "support" / "verification" / "account"

SETTINGS = TopicSettings(segment_bytes=170, index_interval_bytes=60)
TOPIC = "orders"
# In a log with other changes, what stands in a wrong partition may be why a range is altered.
APART = ("moved", "partitions_exchanged")
GROUPS = {
    "log": [name for name in LOG_CHANGES if name not in APART],
    "places and source": [*APART, *SOURCE_CHANGES],
}
# Each format and each dialect; the long tests take each change in all pairs of them.
LOGS = [
    ("text", "documented"),
    ("text", "kafka"),
    ("csv", "documented"),
    ("json", "kafka"),
    ("parquet", "kafka"),
    ("kcat", "documented"),
    ("kminilog", "kafka"),
]
EVERY_DAY = [
    ("log", "text", "documented"),
    ("log", "parquet", "kafka"),
    ("places and source", "csv", "kafka"),
    ("places and source", "json", "documented"),
    ("places and source", "kcat", "documented"),
    ("places and source", "kminilog", "kafka"),
]


class Scene:
    """A source and the log that a job made of it. `restored` takes all changes back."""

    def __init__(self, directory: Path, form: str, dialect: str, partitions: int) -> None:
        self.directory = directory
        self.source = SourceFile(directory, form, partitions)
        columns = {"key_regex": KEY_REGEX} if form == "text" else {"key": "k", "value": "v"}
        columns = {} if form in ("kcat", "kminilog") else columns
        self._asked = Source((self.source.name,), form, **columns)
        ingest_with(
            LocalIngest(),
            directory / "log",
            self._asked,
            topic=TOPIC,
            partitions=partitions,
            dialect=DIALECTS[dialect],
            settings=SETTINGS,
            job_id="job",
        )
        self._files = files_of(directory)
        self.log = LogFiles(directory / "log", TOPIC, self.source)

    def restored(self) -> "Scene":
        restore(self.directory, self._files)
        self.source = SourceFile(self.directory, self.source.form, self.source.partitions)
        self.log = LogFiles(self.directory / "log", TOPIC, self.source)
        return self

    def change(self, name: str, p: int, q: int, number: int) -> Expected:
        return CHANGES[name](Spot(self.log, self.source, p, q, number))

    def report(self, engine: Engine, *, full: bool) -> Report:
        log_dir, asked = LogDir(self.directory / "log"), self._asked
        path = self.directory / "every.jsonl"
        report = verify_with(
            engine, ManualClock(), log_dir, [TOPIC], against=asked, full=full, findings=path
        )
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        path.unlink()
        assert_same(rows, report, self.source)
        self.ids = {row["id"] for row in rows}
        assert len(self.ids) == len(rows)
        return report

    def assert_found(self, expected: Expected, engines: Sequence[Engine]) -> None:
        """Verify with each engine, in two steps and in full."""
        ids, reports = [], []
        for engine, full in product(engines, (False, True)):
            reports.append(self.report(engine, full=full))
            ids.append(self.ids)
        assert all(found == ids[0] for found in ids)
        first_steps = [report.scope["steps"][0] for report in reports]
        assert first_steps == ["sums", "account"] * len(engines)
        wanted = sorted(
            (
                (kind, partition, offset, record and self.source.place(record))
                for kind, partition, offset, record in expected.findings
            ),
            key=str,
        )
        first = reports[0]
        assert independent(first) == wanted
        added, source = expected.extra + expected.duplicate, len(self.source.records)
        assert first.conservation == {
            "source": source,
            "stored": source + added - expected.missing,
            "missing": expected.missing,
            "extra": expected.extra,
            "duplicate": expected.duplicate,
            "rejected": 0,
            "altered": expected.altered,
            "holds": True,
        }
        assert first.verdict == ("findings" if wanted else "ok")
        for other in reports[1:]:
            assert all_of(other) == all_of(first)


def assert_same(rows: list[dict[str, Any]], report: Report, of: SourceFile) -> None:
    """The file has each finding as the report shows it; the report has samples of all."""
    shown = [
        (kind.value, *sample[1:7], sample.last_offset, sample.source and str(sample.source))
        for kind in report.tally.counts()
        for sample in report.tally.samples(kind)
    ]
    assert len(shown) == report.tally.total()
    kept = []
    for row in rows:
        where = "row", row["source_row"]
        if row["source_line"] is not None:
            where = "line", row["source_line"]
        elif row["source_position"] is not None:
            where = "offset", of.offset_at(row["source_position"])
        source = row["source_file"] and "{}, {} {}".format(row["source_file"], *where)
        names = ("class", "topic", "partition", "detail", "segment", "offset", "position")
        kept.append((*(row[name] for name in names), row["last_offset"], source))
    # Where a message belongs that stands in a wrong partition, only its sample says.
    shown = [(*one[:8], None) if one[0] == "wrong-partition" else one for one in shown]
    assert sorted(kept, key=str) == sorted(shown, key=str)


def independent(report: Report) -> list[tuple[str, int, int | None, str | None]]:
    """The findings that come from no other one."""
    kinds = report.to_json()["findings"]
    assert all(one["count"] == len(one["samples"]) for one in kinds)
    return sorted(
        (
            (one["class"], sample["partition"], sample["offset"], sample["source"])
            for one in kinds
            for sample in one["samples"]
            if not sample["cause"]
        ),
        key=str,
    )


def all_of(report: Report) -> dict[str, Any]:
    """All that a report says, but for who has found it and how; digests are for `full` only."""
    said = report.to_json()
    said["checked"] = [one for one in said["checked"] if one != "digests"]
    said["unchecked"] = [one for one in said["unchecked"] if "SHA-256" not in one["why"]]
    scope = {name: said["scope"][name] for name in said["scope"] if name not in ("engine", "steps")}
    return {**said, "scope": scope, "engine": None, "seconds": None}


SceneOf = Callable[[str, str, int], Scene]


@pytest.fixture(autouse=True)
def _small_ranges_and_all_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "RANGE_MESSAGES", RANGE)
    for module in (findings, account, alterations):
        monkeypatch.setattr(module, "SAMPLE_COUNT", 1000)
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture(scope="module")
def scene_of(tmp_path_factory: pytest.TempPathFactory) -> SceneOf:
    """Each log is written once for all changes."""

    @cache
    def written(form: str, dialect: str, partitions: int) -> Scene:
        return Scene(tmp_path_factory.mktemp("scene"), form, dialect, partitions)

    return lambda *arguments: written(*arguments).restored()


def test_tamperer_knows_nothing_of_kminilog():
    for name in ("tamperer", "changes"):
        tree = ast.parse((SUPPORT / f"{name}.py").read_text())
        imported = [
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
        ]
        assert not [name for name in imported if name and "kminilog" in name]
    assert len(LOG_CHANGES) >= 21
    assert len(SOURCE_CHANGES) >= 6


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("form", FORMATS)
def test_log_that_nobody_has_tampered_with_is_ok(scene_of, form, dialect):
    scene_of(form, dialect, 3).assert_found(Expected(), [LocalEngine()])


def check_one(scene: Scene, name: str, number: int, engines: Sequence[Engine]) -> None:
    expected = scene.change(name, number % 3, (number + 1) % 3, number)
    scene.source.write()
    scene.assert_found(expected, engines)


@pytest.mark.parametrize(("name", "log"), list(zip(CHANGES, cycle(LOGS))))
def test_each_change_is_named_exactly(scene_of, name, log):
    """Each in one of the logs, in turn."""
    check_one(scene_of(*log, 3), name, LOGS.index(log), [LocalEngine()])


@pytest.mark.soak
@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_named_exactly_wherever_it_is_made(scene_of, name):
    for form, dialect, number in product(FORMATS, DIALECTS, range(12)):
        check_one(scene_of(form, dialect, 3), name, number, [LocalEngine()])


# ---- Spark, too


def check_group(scene: Scene, names: Sequence[str], engines: Sequence[Engine]) -> None:
    """Make each change in two partitions of its own, and find them all at once."""
    expected = Expected()
    for number, name in enumerate(names):
        expected += scene.change(name, 2 * number, 2 * number + 1, number)
    scene.source.write()
    scene.assert_found(expected, engines)


@pytest.mark.parametrize(
    ("group", "form", "dialect"),
    [
        pytest.param(*case, marks=() if case in EVERY_DAY else pytest.mark.soak)
        for case in product(GROUPS, FORMATS, DIALECTS)
    ],
)
def test_both_engines_name_all_changes_of_one_log(spark, scene_of, group, form, dialect):
    names = GROUPS[group]
    scene = scene_of(form, dialect, 2 * len(names))
    check_group(scene, names, [LocalEngine(), SparkEngine(spark)])


@pytest.mark.soak
@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", CHANGES)
def test_both_engines_name_each_change(spark, scene_of, name, form, dialect):
    number = FORMATS.index(form) + len(FORMATS) * (dialect == "kafka")
    check_one(scene_of(form, dialect, 3), name, number, [LocalEngine(), SparkEngine(spark)])
