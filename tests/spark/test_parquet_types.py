"""What the types of Parquet become in JSON: as the page says, and nothing is lost."""

import datetime
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kminilog.job_errors import SourceError
from kminilog.source import task_groups
from kminilog.source.description import Source, files_of
from kminilog.spark.datasource.door import register
from kminilog.spark.ingest.job import ingest
from kminilog.spark.source.nanoseconds import with_nanoseconds
from kminilog.spark.source.own_session import own_session
from kminilog.spark.source.records import read_source
from kminilog.spark.verify.job import verify
from kminilog.storage.log_dir import LogDir

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
MICROS = 1767323045123001  # 2026-01-02T03:04:05.123001Z
UTC, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")
NANOS = MICROS * 1000 + 7
NANOS_UTC, NANOS_LOCAL = pa.timestamp("ns", "Europe/Berlin"), pa.timestamp("ns")
# What the page gives as an example of each type.
EXAMPLES: dict[str, tuple[Any, pa.DataType]] = {
    "BOOLEAN": (True, pa.bool_()),
    "INT, 8 to 64 bits, signed and unsigned": (2**64 - 1, pa.uint64()),
    "FLOAT": (0.1, pa.float32()),
    "DOUBLE": (0.1 + 0.2, pa.float64()),
    "FLOAT and DOUBLE that are no number": (float("nan"), pa.float64()),
    "FLOAT and DOUBLE without bounds": (float("-inf"), pa.float32()),
    "DECIMAL, up to 38 digits": (Decimal("1.10"), pa.decimal128(38, 2)),
    "STRING, ENUM, JSON": ("é", pa.string()),
    "BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY": (b"\xff", pa.binary(1)),
    "DATE": (datetime.date(2026, 1, 2), pa.date32()),
    "TIMESTAMP(MILLIS or MICROS), UTC": (MICROS - 1, pa.timestamp("us", "Europe/Berlin")),
    "TIMESTAMP(MICROS), UTC": (MICROS, UTC),
    "TIMESTAMP(MICROS), local": (MICROS, LOCAL),
    "TIMESTAMP(NANOS), UTC": (NANOS, NANOS_UTC),
    "TIMESTAMP(NANOS), local": (NANOS, NANOS_LOCAL),
    "LIST": ([1, 2, None], pa.list_(pa.int8())),
    "struct": ({"a": None, "b": 2}, pa.struct([("a", LOCAL), ("b", pa.int8())])),
    "MAP": ([("k", 1)], pa.map_(pa.string(), pa.int8())),
    "MAP, keys are bytes": ([(b"\xff", 1)], pa.map_(pa.binary(), pa.int8())),
    "MAP, keys are timestamps": ([(MICROS, 1)], pa.map_(UTC, pa.int8())),
    "MAP, keys are nanoseconds": ([(NANOS, 1)], pa.map_(NANOS_UTC, pa.int8())),
    "MAP, keys are dates": ([(datetime.date(2026, 1, 2), 1)], pa.map_(pa.date32(), pa.int8())),
    "null, of whatever type": (None, pa.list_(UTC)),
}
Values = Callable[..., list[bytes]]


@pytest.fixture
def values(spark: SparkSession) -> Values:
    """Return the values of the records of a Parquet file, or the keys if there are any."""

    def read(path: Path, **options: Any) -> list[bytes]:
        source = Source((str(path),), "parquet", **options)
        with own_session(spark, source, files_of(source)) as own:
            records = read_source(own, source).orderBy("source_rank", "source_row").collect()
        keys = source.key or source.key_expr
        return [bytes(row["key"] if keys else row["value"]) for row in records]

    return read


def write(path: Path, columns: dict[str, pa.Array], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_read_source_parquet_types_become_the_json_of_the_page(values, tmp_path):
    rows = re.findall(r"^\| ([^|]+?) \| [^|]*\| `(.+)` \|$", PAGE.read_text(), re.MULTILINE)
    columns = {name: pa.array([value], kind) for name, (value, kind) in EXAMPLES.items()}
    (row,) = values(write(tmp_path / "p.parquet", columns))
    page = {name: text for name, text in rows if name in EXAMPLES}
    assert page.keys() == EXAMPLES.keys()
    assert row.decode() == "{" + ",".join(f'"{name}":{page[name]}' for name in EXAMPLES) + "}"
    old = write(
        tmp_path / "old",
        {"x": columns["TIMESTAMP(NANOS), UTC"]},
        use_deprecated_int96_timestamps=True,
    )
    assert values(old) == [f'{{"x":{dict(rows)["INT96"]}}}'.encode()]


def test_read_source_parquet_keeps_every_microsecond_wherever_it_is(values, tmp_path):
    micros = [MICROS + step for step in (0, 998, 999, 876_998)] + [-1, -62135596800000000]
    micros += [253402300799999999]  # the last one of the year 9999
    nested = pa.list_(pa.struct([("m", pa.map_(pa.string(), LOCAL)), ("s.`", UTC)]))
    inner = [[{"m": [("k", at)], "s.`": at}, None, {"m": None, "s.`": None}] for at in micros]
    columns = {"t": pa.array(micros, UTC), "l": pa.array(inner, nested)}
    path = write(tmp_path / "p.parquet", columns)
    read_by_arrow = pq.read_table(path)  # which knows nothing of Spark
    expected = [
        {"t": text(t, "Z"), "l": [{"m": {"k": text(t)}, "s.`": text(t, "Z")}, None, empty]}
        for t in (moment.value for moment in read_by_arrow["t"])
        for empty in [{"m": None, "s.`": None}]
    ]
    assert [json.loads(row) for row in values(path)] == expected
    assert [json.loads(row) for row in values(path, value="l")] == [row["l"] for row in expected]


def text(micros: int, zone: str = "", nanos: int = 0) -> str:
    """A timestamp as Python has it, with three digits if these are all, with nine if it must be."""
    moment = datetime.datetime.fromisoformat("1970-01-01") + datetime.timedelta(microseconds=micros)
    if nanos:
        return f"{moment.isoformat(timespec='microseconds')}{nanos:03}{zone}"
    return moment.isoformat(timespec="microseconds" if micros % 1000 else "milliseconds") + zone


@pytest.mark.parametrize("zone", ["", "Z"], ids=["TIMESTAMP(NANOS)", "INT96"])
def test_read_source_parquet_keeps_every_nanosecond_wherever_it_is(values, tmp_path, zone):
    options = {"use_deprecated_int96_timestamps": bool(zone), "row_group_size": 4}
    steps = (0, 1, 10, 999, 1000, 999_999, 1_000_000)
    nanos = [sign * (NANOS // 10**9 * 10**9 + step) for step in steps for sign in (1, -1)]
    nanos += [-1, 0, 2**63 - 1, -(2**63) + 1, None]
    names, lists = pa.map_(pa.struct([("k", NANOS_LOCAL)]), NANOS_UTC), pa.list_(NANOS_LOCAL)
    inner = pa.struct([("s.`", NANOS_UTC), ("m", names), ("l", lists), ("n", pa.int64())])
    nested = [
        at
        if at is None
        else {"s.`": at, "m": [({"k": at}, at), ({"k": 5}, None)], "l": [at, None], "n": at}
        for at in nanos
    ]
    keys = [at if at is None else [(at, at)] for at in nanos]
    columns = {
        "a.`": pa.array(nanos, NANOS_UTC),
        "local": pa.array(nanos, NANOS_LOCAL),
        "number": pa.array(nanos, pa.int64()),
        "nested": pa.array([[row] for row in nested], pa.list_(inner)),
        "keys": pa.array(keys, pa.map_(NANOS_UTC, pa.int64())),
        "none": pa.nulls(len(nanos)),
    }
    path = write(tmp_path / "p.parquet", columns, **options)
    expected = []
    for at in (moment.value for moment in pq.read_table(path)["local"]):  # no word of Spark
        utc, local = (at is not None and text(at // 1000, end, at % 1000) for end in ("Z", zone))
        inside = {
            "s.`": utc,
            "m": {
                f'{{"k":"{local}"}}': utc,
                f'{{"k":"1970-01-01T00:00:00.000000005{zone}"}}': None,
            },
            "l": [local, None],
            "n": at,
        }
        row = {
            "a.`": utc or None,
            "local": local or None,
            "number": at,
            "nested": [inside if at is not None else None],
        }
        expected.append(row | {"keys": {str(at): at} if at is not None else None, "none": None})
    for row, found in zip(expected, values(path), strict=True):
        assert json.loads(found) == row
    texts = [row["local"] for row in expected[:-1]]
    lengths = [len(found) - len(zone) for found in texts[1:3]]
    assert lengths == [23, 29]  # three digits, nine digits
    whole = pq.read_table(path).slice(0, len(texts))
    pq.write_table(whole, path, **options)
    for asked in ({"value": "local"}, {"key": "local"}, {"key_expr": "concat(local, '')"}):
        assert [found.decode() for found in values(path, **asked)] == texts, asked


def test_read_source_parquet_with_nanoseconds_that_another_file_has_not_is_refused(
    spark, values, tmp_path
):
    write(tmp_path / "1.parquet", {"t.x": pa.array([NANOS], NANOS_UTC)})
    for kind in (UTC, NANOS_LOCAL, pa.int64(), pa.string()):
        write(tmp_path / "2.parquet", {"t.x": pa.array([1]).cast(kind)})
        reason = (
            r"2\.parquet: column t\.x is .*, but t\.x of .*1\.parquet is TIMESTAMP\(NANOS\) in U"
        )
        with pytest.raises(SourceError, match=reason) as caught:
            values(tmp_path)
        assert "\n" not in str(caught.value)
    write(tmp_path / "2.parquet", {"T.x": pa.array([1])})
    assert len(values(tmp_path)) == 2
    source = Source((str(tmp_path),), "parquet")
    with own_session(spark, source, files_of(source)) as own:
        own.conf.set("spark.sql.caseSensitive", "false")
        with pytest.raises(SourceError, match=r"column T\.x is another type, but t\.x of"):
            read_source(own, source)
        with pytest.raises(
            SourceError, match=r"column u\.x: it has nanoseconds, and Spark does not"
        ):
            with_nanoseconds(own.range(1), {("u", "x"): "TIMESTAMP(NANOS)"})
    (tmp_path / "t.x=1").mkdir()
    (tmp_path / "2.parquet").rename(tmp_path / "t.x=1" / "2.parquet")
    with pytest.raises(SourceError, match=r"column t\.x is another type"):
        values(tmp_path)


@pytest.mark.parametrize("zone", ["", "Z"], ids=["TIMESTAMP(NANOS)", "INT96"])
def test_ingest_of_nanoseconds_stores_what_verification_finds_in_the_source(spark, tmp_path, zone):
    options = {"use_deprecated_int96_timestamps": bool(zone)}
    path = write(tmp_path / "p.parquet", {"t": pa.array([NANOS, -1], NANOS_LOCAL)}, **options)
    source = Source((str(path),), "parquet", key="t")
    ingest(spark, tmp_path / "logs", source, topic="t")
    log_dir = LogDir(tmp_path / "logs")
    register(spark)
    stored = spark.read.format("kminilog").option("topic", "t").load(str(log_dir.path))
    messages = stored.orderBy("offset").collect()
    texts = [f"2026-01-02T03:04:05.123001007{zone}", f"1969-12-31T23:59:59.999999999{zone}"]
    assert [bytes(message["key"]).decode() for message in messages] == texts
    report = verify(spark, log_dir, ["t"], against=source)
    assert (report.verdict, report.conservation["stored"]) == ("ok", 2)
    write(path, {"t": pa.array([NANOS, -2], NANOS_LOCAL)}, **options)
    changed = verify(spark, log_dir, ["t"], against=source)
    assert (changed.verdict, changed.conservation["altered"]) == ("findings", 1)


def test_read_source_parquet_numbers_are_those_of_the_file(values, tmp_path):
    floats = [0.1, 3.4028234663852886e38, 1e-45, -0.0, 16777217.0, 1e7, 9.5e-4]
    decimals = [Decimal("12345678901234567890123456789012345.67"), Decimal("0.00"), Decimal("-1")]
    columns = {
        "f": pa.array(floats, pa.float32()),
        "d": pa.array([*floats[:-1], 2.2250738585072014e-308], pa.float64()),
        "n": pa.array([*decimals, *decimals, None], pa.decimal128(38, 2)),
    }
    path = write(tmp_path / "p.parquet", columns)
    found = [json.loads(row, parse_float=Decimal, parse_int=Decimal) for row in values(path)]
    for name, column in zip(columns, pq.read_table(path).columns, strict=True):
        texts = [row[name] for row in found]
        if name != "n":
            texts = [float(text) for text in texts]
        assert pa.array(texts, column.type).equals(column.combine_chunks()), name


def test_read_source_parquet_int96_has_the_digits_of_all_files(values, tmp_path, monkeypatch):
    monkeypatch.setattr(task_groups, "LEAST_BYTES", 1)  # several tasks look for digits
    old = {"use_deprecated_int96_timestamps": True}
    (tmp_path / "d" / "Y=2026").mkdir(parents=True)
    far = [253402300799999999, -62135596800000000]  # years 9999 and 1
    coarse = pa.array([*far, MICROS], LOCAL)
    fine = pa.array([None, -1, NANOS], NANOS_LOCAL)
    path = write(tmp_path / "1.parquet", {"t": coarse, "u": coarse}, **old)
    inside = pa.StructArray.from_arrays([fine, pa.array([1, 2, None])], ["t", "n"])
    write(tmp_path / "d" / "Y=2026" / "2.parquet", {"s": inside, "u": coarse, "t": fine}, **old)
    write(tmp_path / "d" / "Y=2026" / "3.parquet", {"T": pa.array([NANOS])})
    write(tmp_path / "e.parquet", {"u": fine[:1], "t": coarse[2:]}, **old)
    in_coarse = [text(at, "Z") for at in (*far, MICROS)]
    in_fine = [None, "1969-12-31T23:59:59.999999999Z", text(MICROS, "Z", 7)]
    expected = [{"t": at, "u": at} for at in in_coarse]
    for t, u, n in zip(in_fine, in_coarse, (1, 2, None), strict=True):
        expected.append({"s": {"t": t, "n": n}, "u": u, "t": t, "Y": 2026})
    expected += [{"T": NANOS, "Y": 2026}, {"t": in_coarse[2]}]
    found = [json.loads(row) for row in values(tmp_path / "*")]
    names = {name for row in expected for name in row}
    assert found == [dict.fromkeys(names) | row for row in expected]
    # No digits behind the microsecond: it is a timestamp for SQL.
    assert values(path, value="cast(year(t) AS string)") == [b"9999", b"1", b"2026"]
    keys = values(tmp_path / "*", key_expr="coalesce(t, string(year(u)), '-')")
    assert [key.decode() for key in keys][3:] == ["9999", *in_fine[1:], "-", in_coarse[2]]


def test_read_source_parquet_int96_with_nanoseconds_that_another_file_has_not_is_refused(
    values, tmp_path
):
    old = {"use_deprecated_int96_timestamps": True}
    write(tmp_path / "1.parquet", {"t": pa.array([[NANOS]], pa.list_(NANOS_LOCAL))}, **old)
    for kind in (UTC, NANOS_UTC, pa.int64()):
        write(tmp_path / "2.parquet", {"t": pa.array([[1]], pa.list_(kind))})
        reason = r"2\.parquet: column t\.element is .*1\.parquet is INT96 with nanoseconds; write"
        with pytest.raises(SourceError, match=reason) as caught:
            values(tmp_path)
        assert "\n" not in str(caught.value)
