"""What is altered is told by its key first, as a join by key tells that shares no code with it."""

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.clock import ManualClock
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.source.description import DATAFRAME, Source
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.account.engine import Engine, LocalEngine
from kminilog.verification.account.job import verify_with
from kminilog.verification.account.spark import SparkEngine
from kminilog.verification.findings import FindingClass
from tests.support.spark import ON_SPARK

Row = tuple[str | None, str]
Found = Counter[tuple[Any, ...]]


@pytest.fixture(autouse=True)
def _no_fsync(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda descriptor: None)


@pytest.fixture(params=["local", pytest.param("spark", marks=ON_SPARK)])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "local":
        return LocalEngine()
    return SparkEngine(request.getfixturevalue("spark"))


def write(path: Path, rows: Iterable[Row]) -> Source:
    path.write_text("".join(f"{key or ''},{value}\n" for key, value in rows))
    return Source((str(path),), key_regex="^([^,]+),")


def ingested(directory: Path, rows: Sequence[Row], **options: Any) -> Path:
    source = write(directory / "rows.csv", rows)
    options = {"partitions": 1, **options}
    ingest_with(LocalIngest(), directory / "log", source, topic="t", job_id="j", **options)
    return directory / "log"


def verified(engine: Engine, log_dir: Path, against: Source) -> list[dict[str, Any]]:
    """The lines of the findings file that are about a record, or a message without one."""
    path = log_dir.parent / "every.jsonl"
    path.unlink(missing_ok=True)
    there = LogDir(log_dir)
    verify_with(engine, ManualClock(), there, ["t"], against=against, findings=path)
    return [json.loads(line) for line in path.read_text().splitlines()]


def findings(engine: Engine, log_dir: Path, rows: Sequence[Row]) -> Found:
    """Class, then the row of the source or None, and the key of the message; of altered both."""
    found = verified(engine, log_dir, write(log_dir.parent / "rows.csv", rows))
    return Counter(
        (
            one["class"],
            one["source_line"] and rows[one["source_line"] - 1],
            one["class"] != "missing" and (one["key"], one["differs"]),
        )
        for one in found
    )


def altered(record: Row, message: Row) -> tuple[Any, ...]:
    key, value = (",".join((one[0] or "", one[1])) for one in (record, message))
    told = (
        "" if record[0] == message[0] else f"key: {record[0] or 'null'} ≠ {message[0] or 'null'}, "
    )
    return "altered", record, (message[0], f"{told}value: {key} ≠ {value}")


def missing(record: Row) -> tuple[Any, ...]:
    return "missing", record, False


def extra(message: Row) -> tuple[Any, ...]:
    return "extra", None, (message[0], None)


STORED: list[Row] = [("a", "1"), ("b", "2"), ("c", "3")]


@pytest.mark.parametrize(
    ("stored", "rows", "expected"),
    [
        (STORED, [("b", "2x"), STORED[2]], [extra(STORED[0]), altered(("b", "2x"), STORED[1])]),
        (STORED, [("d", "2"), *STORED[1:]], [altered(("d", "2"), STORED[0])]),
        (
            [*STORED, ("a", "4"), ("d", "5")],
            [("a", "1x"), ("c", "3x"), ("a", "4x"), ("d", "5")],
            [
                altered(("a", "1x"), STORED[0]),
                extra(STORED[1]),
                altered(("c", "3x"), STORED[2]),
                altered(("a", "4x"), ("a", "4")),
            ],
        ),
    ],
    ids=["removed in front of a changed one", "key changed", "equal keys in order"],
)
def test_altered_rows_of_one_place_have_equal_keys_first(tmp_path, engine, stored, rows, expected):
    assert findings(engine, ingested(tmp_path, stored), rows) == Counter(expected)


def test_altered_what_stands_on_the_other_side_of_a_pair_by_key_is_no_pair(tmp_path, engine):
    stored: list[Row] = [("k", "1"), ("gone", "2"), ("k", "3"), ("z", "4")]
    rows: list[Row] = [("new", "1"), ("k", "1x"), ("k", "3x"), ("z", "4")]
    found = findings(engine, ingested(tmp_path, stored), rows)
    assert found == Counter(
        [
            missing(rows[0]),
            altered(rows[1], stored[0]),
            extra(stored[1]),
            altered(rows[2], stored[2]),
        ]
    )


def test_altered_rows_without_a_key_are_no_rows_with_one(tmp_path, engine):
    stored: list[Row] = [("gone", "1"), (None, "2"), ("z", "3")]
    rows: list[Row] = [(None, "2x"), ("z", "3")]
    found = findings(engine, ingested(tmp_path, stored), rows)
    assert found == Counter([extra(stored[0]), altered(rows[0], stored[1])])


def test_altered_message_without_a_known_partition_is_no_record_with_a_key(tmp_path, engine):
    """Without a job on record for the source, rows without a key may belong anywhere."""
    keyless = [(None, str(number)) for number in range(50)]
    log_dir = ingested(tmp_path, [*keyless, ("z", "z")], partitions=2)
    rows = [("new", "1"), *((None, f"{value}x") for _, value in keyless), ("z", "z")]
    found = verified(engine, log_dir, write(tmp_path / "other.csv", rows))
    assert Counter(one["class"] for one in found) == {"missing": 51, "extra": 50}


def test_altered_rows_that_belong_elsewhere_now_are_told_by_their_key_alone(tmp_path, engine):
    """A record less moves all others to the next partition; what is there is another record."""
    stored: list[Row] = [(f"k{number % 150}", f"{number}") for number in range(200)]
    log_dir = ingested(tmp_path, stored, partitions=3, partitioner="round-robin")
    rows = [(key, f"{value}x") for key, value in stored[1:]]
    once = [(key, value) for key, value in stored if int(key[1:]) >= 50]
    others = [row for row in stored if row not in once]
    assert findings(engine, log_dir, rows) == Counter(
        [
            *(altered((key, f"{value}x"), (key, value)) for key, value in once),
            *(missing((key, f"{value}x")) for key, value in others[1:]),
            *map(extra, others),
        ]
    )


def test_altered_key_that_occurs_once_is_found_wherever_it_stands(tmp_path, engine):
    """A file in another order, and a copy of `c` that crosses what is next to it."""
    stored: list[Row] = [(f"k{number}", f"{number}") for number in range(100)]
    log_dir = ingested(tmp_path, [("c", "c"), *stored, ("c", "c")], partitions=3)
    rows: list[Row] = [(key, value + "x" * (int(value) % 3 == 0)) for key, value in stored]
    random.Random(4).shuffle(rows)
    expected = joined_by_key(stored, rows)
    assert findings(engine, log_dir, [("c", "c"), *rows, ("c", "c")]) == expected
    rows = [*stored[:98], ("c", "c"), ("k98", "98x"), stored[99]]
    expected = Counter([altered(rows[99], stored[98]), ("duplicate", ("c", "c"), ("c", None))])
    assert findings(engine, log_dir, rows) == expected


def test_altered_rows_of_a_dataframe_are_told_by_their_key_alone(tmp_path, spark):
    """Its rows have no order, so a place says nothing."""
    keyed: list[Row] = [(f"k{number}", f"{number}") for number in range(200)]
    keyless: list[Row] = [(None, str(number)) for number in range(200)]
    log_dir = ingested(tmp_path, keyed + keyless)
    rows = [(key, f"{key},{value}x") for key, value in keyed if int(value) % 4]
    rows += [(None, f",{value}{'x' * (int(value) % 2)}") for _, value in keyless]
    random.Random(4).shuffle(rows)
    frame = spark.createDataFrame(rows, "key string, value string")
    found = verified(SparkEngine(spark, frame), log_dir, DATAFRAME)
    assert Counter(one["class"] for one in found) == {"altered": 150, "missing": 100, "extra": 150}
    assert {one["differs"] and one["differs"].partition(":")[0] for one in found} == {None, "value"}


def test_altered_rows_that_are_shown_are_the_first_of_the_source(tmp_path, engine):
    stored: list[Row] = [(f"k{n}" if n % 2 else "often", f"{n}") for n in range(100)]
    log_dir = ingested(tmp_path, stored)
    source = write(tmp_path / "rows.csv", [(key, f"{value}x") for key, value in stored])
    report = verify_with(engine, ManualClock(), LogDir(log_dir), ["t"], against=source)
    shown = report.tally.samples(FindingClass.ALTERED)
    assert [str(one.source).split()[-1] for one in shown] == [f"{n}" for n in range(1, 21)]


# ---- beside a join by key


def joined_by_key(stored: Sequence[Row], rows: Sequence[Row]) -> Found:
    """What a join says of rows whose keys occur once, but for copies that are the same."""

    def schema(name: str) -> pa.Schema:
        return pa.schema({"key": pa.string(), name: pa.string()})

    tables = [
        pa.table([*zip(*side, strict=True)] or [[], []], schema(name))
        .group_by("key")
        .aggregate([(name, "min"), (name, "count")])
        for name, side in (("message", stored), ("record", rows))
    ]
    found: Found = Counter()
    for one in tables[0].join(tables[1], "key", join_type="full outer").to_pylist():
        key, message, record = one["key"], one["message_min"], one["record_min"]
        if message is None:
            found[missing((key, record))] += one["record_count"]
        elif record is None:
            found[extra((key, message))] += one["message_count"]
        elif record != message:
            found[altered((key, record), (key, message))] += 1
        else:
            surplus = one["message_count"] - one["record_count"]
            found[missing((key, record))] += max(-surplus, 0)
            found["duplicate", (key, record), (key, None)] += max(surplus, 0)
    return +found


class Scene:
    """What was stored, and a source after much of what happens to sources.

    Of a row without a key, place is all that can be told. That is enough between two pairs if the
    rows there are the same on both sides, changed or not, and none has a copy: `clear` are all such
    changed ones.
    """

    def __init__(
        self, chance: random.Random, count: int, keyless: float, changed: float, others: float
    ) -> None:
        self.stored: list[Row] = []
        self.rows: list[Row] = []
        kinds = ["kept", "changed", "removed", "inserted", "doubled", "stored twice"]
        pairs, copied = set[str](), set[str]()
        for number in range(count):
            key = None if chance.random() < keyless else f"k{number}"
            (kind,) = chance.choices(kinds, [1, changed, *[others / 4] * 4])
            stored = key, f"{number}"
            self.stored.append(stored)
            if kind != "removed":
                self.rows.append((key, f"{number}x" if kind == "changed" else f"{number}"))
            if kind == "inserted":
                self.rows.append((key and f"new{number}", f"new{number}"))
            if kind in ("doubled", "stored twice"):
                side = self.rows if kind == "doubled" else self.stored
                side.insert(chance.randrange(len(side)), stored)
                copied.add(f"{number}")
            if kind in ("kept", "inserted") or (kind == "changed" and key):
                pairs.add(f"{number}")
        here, there = between(self.stored, pairs), between(self.rows, pairs)
        same = {at for at in here if here[at] == there.get(at) and copied.isdisjoint(here[at])}
        clear = {value for at in same for value in here[at]}
        self.clear = Counter(
            altered((None, value), (None, value[:-1]))
            for key, value in {*self.rows}
            if not key and value.endswith("x") and value[:-1] in clear
        )

    def assert_found(self, found: Found) -> None:
        """Each row with a key is as a join tells; but a new one may take the place of one gone."""
        keyed, keyless = Counter[tuple[Any, ...]](), Counter[tuple[Any, ...]]()
        for one, times in found.items():
            _, record, message = one
            keys = {side[0] for side in (record, message) if side}
            apart = [one] if len(keys) == 1 else [missing(record), extra(message)]
            for each in apart:
                has_key = (each[1] or each[2])[0]
                (keyed if has_key else keyless)[each] += times
        sides = [[row for row in side if row[0]] for side in (self.stored, self.rows)]
        assert keyed == joined_by_key(*sides)
        assert self.clear <= keyless
        stored, rows = (
            Counter(row for row in side if not row[0]) for side in (self.stored, self.rows)
        )
        counts = Counter[str]()
        for kind, *_ in keyless.elements():
            counts[kind] += 1
        assert counts["missing"] + counts["altered"] == (rows - stored).total()
        assert counts["extra"] + counts["duplicate"] + counts["altered"] == (stored - rows).total()


def between(side: Sequence[Row], pairs: set[str]) -> dict[str, list[str]]:
    """The rows after each that is a pair, up to the next one."""
    found: dict[str, list[str]] = {}
    last = ""
    for _, value in side:
        if (number := value.rstrip("x")) in pairs:
            last = number
        else:
            found.setdefault(last, []).append(number)
    return found


@given(
    st.randoms(use_true_random=False),
    st.integers(1, 60),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([0.3, 0.9]),
)
@settings(max_examples=40, deadline=None)
def test_altered_rows_are_what_a_join_by_key_says(chance, count, keyless, changed):
    scene = Scene(chance, count, keyless, changed, others=0.2)
    with tempfile.TemporaryDirectory() as directory:
        log_dir = ingested(Path(directory), scene.stored)
        if scene.rows:
            scene.assert_found(findings(LocalEngine(), log_dir, scene.rows))


@pytest.mark.soak
@pytest.mark.parametrize(
    ("keyless", "options"),
    [
        (0.0, {"partitions": 3}),
        (0.0, {"partitions": 3, "partitioner": "round-robin"}),
        (0.2, {}),
        (1.0, {}),
    ],
    ids=["keys", "keys in turn", "some without", "none"],
)
def test_altered_rows_of_300_000_are_what_a_join_by_key_says(tmp_path, engine, keyless, options):
    scene = Scene(random.Random(57), 300_000, keyless, changed=1 / 3, others=0.02)
    found = findings(engine, ingested(tmp_path, scene.stored, **options), scene.rows)
    scene.assert_found(found)
    names_another = [one for one in found if one[0] == "altered" and one[1][0] != one[2][0]]
    assert len(names_another) < 100  # a row that is new, in the very place of one that is gone
