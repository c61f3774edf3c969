"""Which files a source has, in which order, and whether they are still as they were."""

import os
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest

from kminilog.job_errors import SourceError
from kminilog.source.files import check_unchanged, list_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in (
        "b.log",
        "a.log",
        "sub/c.log",
        "_SUCCESS",
        ".b.log.crc",
        "_tmp/d.log",
        "ä [1].log",
    ):
        path = tmp_path / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return tmp_path / "logs"


def names(paths: list[str]) -> list[str]:
    return [Path(file.path).name for file in list_files(paths)]


def test_list_files_of_a_directory_takes_all_below_by_path_but_hidden_ones(folder):
    assert names([str(folder)]) == ["a.log", "b.log", "c.log", "ä [1].log"]


def test_list_files_keeps_the_order_of_the_arguments(folder):
    assert names([str(folder / "b.log"), str(folder / "sub"), str(folder / "a.log")]) == [
        "b.log",
        "c.log",
        "a.log",
    ]


def test_list_files_of_a_glob_are_by_path(folder):
    assert names([str(folder / "?.log")]) == ["a.log", "b.log"]
    assert names([str(folder / "**")]) == ["a.log", "b.log", "c.log", "ä [1].log"]


def test_list_files_of_a_name_with_signs_of_a_glob_is_that_file(folder):
    assert names([str(folder / "ä [1].log")]) == ["ä [1].log"]


def test_list_files_takes_a_hidden_file_that_is_named(folder):
    assert names([str(folder / "_SUCCESS")]) == ["_SUCCESS"]


def test_list_files_tells_rank_size_and_directory(folder):
    first, second = list_files([str(folder / "a.log"), str(folder / "sub")])
    assert first[:4] == (0, str(folder / "a.log"), 5, None)
    assert second[:4] == (1, str(folder / "sub" / "c.log"), 9, str(folder / "sub"))


@pytest.mark.parametrize("url", ["file://{}", "file://localhost{}"])
def test_list_files_takes_the_url_of_a_file_or_a_directory(folder, url):
    assert names([url.format(quote(str(folder)))]) == ["a.log", "b.log", "c.log", "ä [1].log"]
    assert names([url.format(quote(str(folder / "ä [1].log")))]) == ["ä [1].log"]


@pytest.mark.parametrize("url", ["s3a://bucket/x", "hdfs://name/x", "https://host/x", "file://x/y"])
def test_list_files_of_another_url_names_the_way_by_a_dataframe(url):
    with pytest.raises(SourceError, match=f"{url}: is no path of this machine; .* the DataFrame"):
        list_files([url])


@pytest.mark.parametrize(
    ("mark", "table"),
    [("_delta_log", "Delta Lake"), (".hoodie", "Hudi"), ("metadata/v1.metadata.json", "Iceberg")],
)
@pytest.mark.parametrize("asked", ["", "table", "table/day=1", "table/*/*.log", "table/**"])
def test_list_files_of_a_table_names_the_way_by_a_dataframe(tmp_path, mark, table, asked):
    (tmp_path / "table" / "day=1").mkdir(parents=True)
    (tmp_path / "table" / "day=1" / "a.log").write_text("a")
    assert names([str(tmp_path / asked)]) == ["a.log"]
    (tmp_path / "table" / mark).mkdir(parents=True)
    with pytest.raises(SourceError, match=rf"table: it is a table of {table}, .* the DataFrame"):
        list_files([str(tmp_path / asked)])
    assert names([str(tmp_path / "table" / "day=1" / "a.log")]) == ["a.log"]


def change_size(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"x")


def change_time(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def change_inode(path: Path) -> None:
    other = path.with_name("other")
    shutil.copy2(path, other)
    other.replace(path)


@pytest.mark.parametrize("change", [change_size, change_time, change_inode, Path.unlink])
def test_check_unchanged_names_the_file_that_has_changed(folder, change):
    files = list_files([str(folder)])
    check_unchanged(files)
    change(folder / "b.log")
    with pytest.raises(SourceError, match=r"b\.log: it was changed while it was read"):
        check_unchanged(files)


@pytest.mark.parametrize(
    "second", ["{0}/a.log", "{0}/../logs/a.log", "{0}/link", "{0}", "{0}/*.log"]
)
def test_list_files_refuses_a_file_that_is_given_twice(folder, second):
    (folder / "link").symlink_to(folder / "a.log")
    with pytest.raises(SourceError, match="names already"):
        list_files([str(folder / "a.log"), second.format(folder)])


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("gone.log", "no such file or directory"),
        ("gone/*.log", "no such file or directory"),
        ("empty", "the directory holds no files"),
        ("pipe", "is not a regular file"),
    ],
)
def test_list_files_that_cannot_be_read_is_a_source_error(tmp_path, path, reason):
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SourceError, match=reason):
        list_files([str(tmp_path / path)])


def test_list_files_of_nothing_is_a_source_error():
    with pytest.raises(SourceError, match="name at least one"):
        list_files([])
