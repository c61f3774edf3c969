"""Records of Parquet files: all that their footers say, by any names of columns."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kminilog.errors import SourceError
from kminilog.jobs.source import parquet_columns
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.parquet_columns import ParquetColumns
from kminilog.jobs.source.source_files import list_files
from tests.support.jobs.source.plain import records_of

KINDS = [pa.binary(), pa.string(), pa.large_binary(), pa.large_string()]


def make_source(directory, kind=KINDS[0], rows=200):
    """Three files with row groups of 7: null and empty keys, null values, and some too long."""
    directory.mkdir()
    for number in range(3):
        keys = [[None, b"", b"k%d" % (row % 5), "ß".encode()][row % 4] for row in range(rows)]
        values = [None if row % 50 == 9 else b"v%d " % row * (row % 23) for row in range(rows)]
        table = pa.table(
            {
                "key": pa.array(keys, pa.binary()).cast(kind),
                "n": range(rows),
                "value": pa.array(values, pa.binary()).cast(kind),
            }
        )
        pq.write_table(table, directory / f"{number}.parquet", row_group_size=7)
    return directory


def source_of(path, **options):
    return Source((str(path),), "parquet", **{"key": "key", "value": "value", **options})


def columns_of(source):
    return ParquetColumns.of(source, list_files(source.paths))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("key", ["key", None])
def test_records_are_the_columns_of_all_files_in_source_order(tmp_path, kind, key):
    path = make_source(tmp_path / "s", kind)
    expected = []
    for rank, file in enumerate(sorted(path.iterdir())):
        for row, found in enumerate(pq.read_table(file).to_pylist()):
            pair = (found["key"] if key else None), found["value"]
            pair = (part.encode() if isinstance(part, str) else part for part in pair)
            expected.append((rank, 0, row, *pair, None))
    found = records_of(source_of(path, key=key), cores=2)
    assert [tuple(row.values()) for row in found] == expected
    assert len(found) == 600


# ---- every file that is listed gives the rows that its footer says


def write(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_files_that_spark_would_leave_out_are_read(tmp_path):
    for number, name in enumerate(["a.parquet", "b.parquet._COPYING_", "d=1/a.parquet", "e/c"]):
        write(tmp_path / "s" / name, v=[number])
    write(tmp_path / "hidden" / "_x.parquet", v=[7])
    write(tmp_path / "hidden" / "b.parquet", v=[8])
    write(tmp_path / "odd" / "a:b.parquet", v=[9])
    (tmp_path / "odd" / ".a:b.parquet.crc").write_bytes(b"crc\x00 of another file")
    paths = [tmp_path / "s", *sorted((tmp_path / "hidden").iterdir()), tmp_path / "odd"]
    source = Source(tuple(map(str, paths)), "parquet", value="v")
    assert [row["value"] for row in records_of(source)] == [
        b"%d" % n for n in (0, 1, 2, 3, 7, 8, 9)
    ]


def test_footer_whose_row_groups_do_not_add_up_names_the_file(tmp_path):
    path = tmp_path / "p.parquet"
    write(path, value=[b"a", b"b", b"c", b"d"])
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    rows = b"\x16\x08"  # Thrift's compact protocol: an i64 in the next field, 4
    assert footer.count(rows) >= 2
    at = footer.index(rows)
    path.write_bytes(data[: -8 - length] + footer[:at] + b"\x16\x0a" + footer[at + 2 :] + data[-8:])
    with pytest.raises(SourceError, match=r"p\.parquet: its footer contradicts itself"):
        records_of(source_of(path, key=None))


def test_row_group_with_a_wrong_compressed_size_is_read_whole_or_an_error(tmp_path):
    path = tmp_path / "p.parquet"
    table = pa.table({"value": [b"one", b"two", b"three", b"four"]})
    pq.write_table(table, path, compression="none", use_dictionary=False, row_group_size=1)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = bytearray(data[-8 - length : -8])
    found = pq.read_metadata(path).row_group(1).column(0).total_compressed_size
    at = footer.index(b"\x16" + varint(found), footer.index(b"\x16" + varint(found)) + 1)
    wrong = b"\x16" + varint(8000)
    footer[at : at + len(wrong)] = wrong
    end = len(footer).to_bytes(4, "little") + b"PAR1"
    path.write_bytes(data[: -8 - length] + footer + end)
    found: object
    try:
        found = [row["value"] for row in records_of(source_of(path, key=None))]
    except SourceError as error:
        found = "p.parquet: cannot be read as Parquet: " in str(error)
    assert found in (True, table["value"].to_pylist())


def varint(number):
    """Thrift's compact form of a positive i64."""
    number, found = number * 2, bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


# ---- names


def test_folder_is_a_text_whatever_it_looks_like(tmp_path):
    for folder in ("zip=02134", "zip=1D", "zip=1.10", "zip=x"):
        write(tmp_path / "s" / folder / "p.parquet", v=[1])
    source = Source((str(tmp_path / "s"),), "parquet", key="zip")
    found = [(row["key"], row["value"]) for row in records_of(source)]
    assert found == [
        (text, b'{"v":1,"zip":"%s"}' % text) for text in (b"02134", b"1.10", b"1D", b"x")
    ]
    assert records_of(replace(source, value="zip"))[0]["value"] == b"02134"


@pytest.mark.parametrize("options", [{}, {"key": "id", "value": "v"}, {"value": "id"}], ids=str)
def test_name_that_a_folder_and_a_column_have_is_an_error(tmp_path, options):
    write(tmp_path / "s" / "id=7" / "p.parquet", id=[1], v=[b"x"])
    source = Source((str(tmp_path / "s"),), "parquet", **options)
    reason = r"p\.parquet: a folder of its path and a column have the name 'id': rename one"
    with pytest.raises(SourceError, match=reason) as caught:
        records_of(source)
    assert len(str(caught.value).replace(str(tmp_path), "")) < 150
    assert records_of(replace(source, key="v", value="v"))[0]["key"] == b"x"


def test_member_of_a_column_is_a_key_and_so_is_a_column_with_dots(tmp_path):
    users = [{"id": 7, "name": {"first": "ann"}}, {"id": None, "name": None}, None]
    write(tmp_path / "1.parquet", user=users, n=[1, 2, 3])
    write(tmp_path / "2.parquet", **{"user.id": ["own"], "user": users[:1]})
    source = Source((str(tmp_path),), "parquet", key="user.id", value="user.id")
    assert [row["key"] for row in records_of(source)] == [b"7", None, None, b"own"]
    source = Source((str(tmp_path / "1.parquet"),), "parquet", key="user.name.first")
    found = records_of(source)
    assert [row["key"] for row in found] == [b"ann", None, None]
    assert found[2]["value"] == b'{"user":null,"n":3}'


@pytest.mark.parametrize("name", ["nobody", "user.nobody", "n.user", "", "."])
def test_column_that_a_file_lacks_is_an_error_that_names_the_file(tmp_path, name):
    write(tmp_path / "p.parquet", user=[{"id": 7}], n=[1])
    source = Source((str(tmp_path / "p.parquet"),), "parquet", value=name)
    with pytest.raises(SourceError, match=rf"p\.parquet: no column '{name}'; there is: user, n"):
        records_of(source)


def test_column_that_is_there_twice_is_an_error_if_it_is_used(tmp_path):
    table = pa.Table.from_arrays([[b"k"], [b"v"], [b"w"]], ["key", "value", "value"])
    pq.write_table(table, tmp_path / "p.parquet")
    for options in ({}, {"value": None}, {"key": "value", "value": "key"}):
        with pytest.raises(SourceError, match=r"p\.parquet: it has twice the name 'value'"):
            records_of(source_of(tmp_path / "p.parquet", **options))
    assert records_of(source_of(tmp_path / "p.parquet", value="key"))[0]["value"] == b"k"


def test_row_has_the_columns_of_its_own_file_whatever_types_others_have(tmp_path):
    write(tmp_path / "1.parquet", n=pa.array([1], pa.int32()), t=["x"], _metadata=[1])
    write(tmp_path / "2.parquet", n=pa.array([2], pa.int64()), t=pa.nulls(1), _corrupt_record=[2])
    found = [row["value"] for row in records_of(Source((str(tmp_path),), "parquet"))]
    assert found == [b'{"n":1,"t":"x","_metadata":1}', b'{"n":2,"t":null,"_corrupt_record":2}']


def test_row_that_is_no_utf8_is_rejected_and_no_other_is(tmp_path):
    write(tmp_path / "p.parquet", t=pa.array([b"a", b"??", b"c"]).cast(pa.string()), n=[1, 2, 3])
    path = tmp_path / "p.parquet"
    path.write_bytes(path.read_bytes().replace(b"??", b"?\xff"))
    found = records_of(Source((str(path),), "parquet", key="t"))
    assert [row["rejected"] for row in found] == [None, "it is not valid UTF-8", None]
    assert [row["key"] for row in found] == [b"a", None, b"c"]
    by_column = records_of(source_of(path, key="t", value="t"))  # bytes are never replaced
    assert [row["value"] for row in by_column] == [b"a", b"?\xff", b"c"]


def test_error_of_a_broken_file_is_one_short_line(tmp_path):
    path = tmp_path / "p.parquet"
    for data in (b"", b"PAR1", b"PAR1 nothing of it PAR1", b"text\n" * 9999):
        path.write_bytes(data)
        with pytest.raises(SourceError, match="cannot be read as Parquet: ") as caught:
            columns_of(source_of(path))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500


def test_read_of_long_values_gives_few_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_columns, "_BATCH_BYTES", 1000)
    values = [b"%4d" % row * 25 for row in range(400)]
    table = pa.table({"key": values, "value": values})
    pq.write_table(table, tmp_path / "p.parquet", use_dictionary=False)
    columns = columns_of(source_of(tmp_path / "p.parquet"))
    batches = list(columns.read(columns.row_groups))
    assert max(map(len, batches)) == 1000 // 209
    assert [value for batch in batches for value in batch["value"].to_pylist()] == values


def test_read_of_few_distinct_long_values_gives_few_at_a_time(tmp_path):
    """The file has each of them once; the records do not."""
    values = [b"%d" % (row % 4) * 10_000 for row in range(3000)]
    pq.write_table(pa.table({"value": values}), tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").stat().st_size < 100_000
    columns = columns_of(source_of(tmp_path / "p.parquet", key=None))
    batches = list(columns.read(columns.row_groups))
    assert max(batch.nbytes for batch in batches) < 5 << 20
    assert [value for batch in batches for value in batch["value"].to_pylist()] == values


def test_read_of_a_page_whose_checksum_is_wrong_names_the_file(tmp_path):
    path = tmp_path / "p.parquet"
    table = pa.table({"value": [b"hello %d" % row for row in range(99)]})
    options = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    pq.write_table(table, path, **options)
    columns = columns_of(source_of(path, key=None))
    data = bytearray(path.read_bytes())
    data[data.index(b"hello 50")] ^= 1
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"p\.parquet: cannot be read as Parquet: .*integrity"):
        list(columns.read(columns.row_groups))


@pytest.mark.parametrize(
    ("columns", "row_group_size"),
    [
        (["value"], 5),
        (["value"], 12),
        (["value"], 100),
        (["other"], 7),
    ],
)
def test_read_of_a_file_that_was_changed_names_it(tmp_path, columns, row_group_size):
    path, data = tmp_path / "p.parquet", [b"%d" % row for row in range(14)]
    pq.write_table(pa.table({"value": data}), path, row_group_size=7)
    planned = columns_of(source_of(path, key=None))
    pq.write_table(pa.table(dict.fromkeys(columns, data)), path, row_group_size=row_group_size)
    with pytest.raises(SourceError, match=r"p\.parquet: it was changed while it was read"):
        list(planned.read(planned.row_groups))


def test_read_of_a_row_group_whose_rows_have_other_numbers_now_names_the_file(tmp_path):
    path, data = tmp_path / "p.parquet", pa.table({"value": [b"%d" % row for row in range(14)]})
    pq.write_table(data, path, row_group_size=7)
    planned = columns_of(source_of(path, key=None))
    with pq.ParquetWriter(path, data.schema) as writer:
        writer.write_table(data.slice(0, 5))
        writer.write_table(data.slice(5, 7))
    with pytest.raises(SourceError, match=r"p\.parquet: it was changed while it was read"):
        list(planned.read(planned.row_groups[1:]))


def test_read_of_a_footer_that_promises_more_rows_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"value": [b"a", b"b"]}), path)
    planned = columns_of(source_of(path, key=None))
    more = [replace(planned.row_groups[0], rows=3)]
    monkeypatch.setattr(parquet_columns, "_row_groups", lambda *_: iter(more))
    with pytest.raises(SourceError, match=r"p\.parquet: it was changed .* or is damaged"):
        list(planned.read(more))


def test_read_opens_a_file_once_for_all_of_its_row_groups(tmp_path, monkeypatch):
    columns, opened = columns_of(source_of(make_source(tmp_path / "s"))), []
    real = pq.ParquetFile

    def counting(path, **options):
        opened.append(path)
        return real(path, **options)

    monkeypatch.setattr(pq, "ParquetFile", counting)
    assert sum(map(len, columns.read(columns.row_groups))) == 600
    assert opened == [row_group.path for row_group in columns.row_groups[::29]]


def test_groups_are_neighbours_in_source_order_and_keep_all_cores_busy(tmp_path, monkeypatch):
    columns = columns_of(source_of(make_source(tmp_path / "s")))
    assert len(columns.groups(2)) == 1
    monkeypatch.setattr("kminilog.jobs.source.tasks.LEAST_BYTES", 1)
    groups = columns.groups(2)
    assert len(groups) == 8
    assert [found for group in groups for found in group] == columns.row_groups
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


def test_column_with_parts_that_is_no_utf8_is_rejected(tmp_path):
    path = tmp_path / "p.parquet"
    write(path, u=[{"t": "a", "n": 1}, {"t": "??", "n": 2}, None], k=["x", "y", "z"])
    path.write_bytes(path.read_bytes().replace(b"??", b"?\xff"))
    for options in ({"value": "u"}, {"key": "u", "value": "k"}):
        found = records_of(Source((str(path),), "parquet", **options))
        assert [row["rejected"] for row in found] == [None, "it is not valid UTF-8", None]
    (_, row, _) = records_of(Source((str(path),), "parquet", value="u.t"))
    assert row["value"] == b"?\xff"


def test_page_whose_checksum_is_wrong_beside_int96_names_the_file(tmp_path):
    path = tmp_path / "p.parquet"
    moments = pa.array([1, 2, 3], pa.timestamp("ns"))
    table = pa.table({"t": moments, "value": [b"hello 0", b"hello 1", b"hello 2"]})
    options = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, **options)
    source = Source((str(path),), "parquet")
    assert len(records_of(source)) == 3
    data = bytearray(path.read_bytes())
    data[data.index(b"hello 1")] ^= 1
    path.write_bytes(data)
    with pytest.raises(SourceError, match=r"p\.parquet: cannot be read as Parquet: .*integrity"):
        records_of(source)


def test_error_about_many_columns_lists_some(tmp_path):
    write(tmp_path / "p.parquet", **{f"column {number}": [1] for number in range(2000)})
    with pytest.raises(SourceError, match=r"no column 'x'; .*\(2000 in all\)") as caught:
        records_of(Source((str(tmp_path),), "parquet", key="x"))
    assert len(str(caught.value)) < 500
