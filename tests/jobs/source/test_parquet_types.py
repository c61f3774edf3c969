"""What the types of Parquet become in JSON: as the page says, and nothing is lost."""

import datetime
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.jobs.source.description import Source
from kminilog.jobs.source.row_json import row_json
from tests.support.jobs.source.plain import records_of

PAGE = Path(__file__).parents[3] / "docs" / "spark.md"
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


def values(path: Path, **options: Any) -> list[bytes]:
    """Return the values of the records of a Parquet file, or the keys if there are any."""
    source = Source((str(path),), "parquet", **options)
    return [row["key" if source.key else "value"] for row in records_of(source)]


def write(path: Path, columns: dict[str, pa.Array], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_read_source_parquet_types_become_the_json_of_the_page(tmp_path):
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


def test_read_source_parquet_keeps_every_microsecond_wherever_it_is(tmp_path):
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
def test_read_source_parquet_keeps_every_nanosecond_wherever_it_is(tmp_path, zone):
    """INT96, whose timestamps end with Z here, is read to the microsecond."""
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
        utc, local = (
            at is not None and text(at // 1000, end, 0 if zone else at % 1000)
            for end in ("Z", zone)
        )
        inside = {
            "s.`": utc,
            "m": {
                f'{{"k":"{local}"}}': utc,
                f'{{"k":"{text(0, zone, 0 if zone else 5)}"}}': None,
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
        expected.append(row | {"keys": {utc: at} if at is not None else None, "none": None})
    for row, found in zip(expected, values(path), strict=True):
        assert json.loads(found) == row
    texts = [row["local"] for row in expected[:-1]]
    lengths = [len(found) - len(zone) for found in texts[1:3]]
    assert lengths == [23, 23 if zone else 29]  # three digits, nine digits
    whole = pq.read_table(path).slice(0, len(texts))
    pq.write_table(whole, path, **options)
    for asked in ({"value": "local"}, {"key": "local"}):
        assert [found.decode() for found in values(path, **asked)] == texts, asked


def test_read_source_parquet_numbers_are_those_of_the_file(tmp_path):
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


def test_read_source_parquet_int96_is_read_to_the_microsecond_in_all_files(tmp_path):
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
    in_fine = [None, "1969-12-31T23:59:59.999999Z", text(MICROS, "Z")]
    expected = [{"t": at, "u": at} for at in in_coarse]
    for t, u, n in zip(in_fine, in_coarse, (1, 2, None), strict=True):
        expected.append({"s": {"t": t, "n": n}, "u": u, "t": t, "Y": "2026"})
    expected += [{"T": NANOS, "Y": "2026"}, {"u": None, "t": in_coarse[2]}]
    assert [json.loads(row) for row in values(tmp_path)] == expected
    assert [key.decode() for key in values(path, key="t")] == in_coarse


YEAR_290000 = 290_000 * 31_556_952 * 10**6  # microseconds


@pytest.mark.parametrize("kind", ["INT96", "TIMESTAMP"])
def test_timestamp_of_a_distant_year_is_a_number(tmp_path, kind):
    options = {"use_deprecated_int96_timestamps": kind == "INT96", "coerce_timestamps": None}
    path = write(tmp_path / "p.parquet", {"t": pa.array([YEAR_290000, 0], UTC)}, **options)
    assert values(path) == [
        b'{"t":%d}' % YEAR_290000,
        b'{"t":"1970-01-01T00:00:00.000Z"}',
    ]
    assert values(path, key="t") == [b"%d" % YEAR_290000, b"1970-01-01T00:00:00.000Z"]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([1, None], pa.time64("us")), [b'"00:00:00.000001"', b"null"]),
        (pa.array([1.5], pa.float16()), [b"1.5"]),
        (pa.array([Decimal("1.50")], pa.decimal256(60, 2)), [b"1.50"]),
        (pa.array(["a", None, "a"]).dictionary_encode(), [b'"a"', b"null", b'"a"']),
        (pa.array(['say "x"\\', "\t\x01"]), [b'"say \\"x\\"\\\\"', b'"\\t\\u0001"']),
        (pa.array([[], None, [None]], pa.list_(pa.int8())), [b"[]", b"null", b"[null]"]),
        (pa.array([[], None], pa.map_(pa.string(), pa.int8())), [b"{}", b"null"]),
        (pa.array([[1.5, None]], pa.list_(pa.float64(), 2)), [b"[1.5,null]"]),
        (
            pa.array([[("a", [None])], [("b", None)]], pa.map_(pa.string(), pa.list_(pa.null()))),
            [b'{"a":[null]}', b'{"b":null}'],
        ),
        (
            pa.array(
                [[("a", {"n": None, "x": 1})], None],
                pa.map_(pa.string(), pa.struct([("n", pa.null()), ("x", pa.int8())])),
            ),
            [b'{"a":{"n":null,"x":1}}', b"null"],
        ),
    ],
    ids=lambda part: str(getattr(part, "type", "")),
)
def test_value_of_any_type_is_its_json(tmp_path, column, expected):
    path = write(tmp_path / "p.parquet", {"x": column})
    assert values(path) == [b'{"x":%s}' % text for text in expected]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
KINDS = st.recursive(
    st.sampled_from([pa.int64(), pa.bool_(), pa.string()]),
    lambda inner: (
        inner.map(pa.list_)
        | st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(
            lambda fields: pa.struct(list(fields.items()))
        )
    ),
    max_leaves=5,
)


def values_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_list(kind):
        return st.none() | st.lists(values_of(kind.value_type), max_size=3)
    if pa.types.is_struct(kind):
        return st.none() | st.fixed_dictionaries({f.name: values_of(f.type) for f in kind})
    if pa.types.is_string(kind):
        return st.none() | NAMES
    return st.none() | (st.booleans() if pa.types.is_boolean(kind) else st.integers(-5, 5))


@given(st.data(), st.dictionaries(NAMES, KINDS, min_size=1, max_size=4), st.integers(0, 3))
def test_row_json_is_what_json_reads_back(data, kinds, start):
    rows = data.draw(st.integers(1, 5)) + start
    columns = {
        name: data.draw(st.lists(values_of(kind), min_size=rows, max_size=rows))
        for name, kind in kinds.items()
    }
    arrays = [pa.array(columns[name], kind)[start:] for name, kind in kinds.items()]
    found = [json.loads(row) for row in row_json(list(kinds), arrays).to_pylist()]
    assert found == [{name: columns[name][row] for name in kinds} for row in range(start, rows)]
