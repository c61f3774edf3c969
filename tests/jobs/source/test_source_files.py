"""Which files a source has, in which order, and whether they are still as they were."""

import os
import re
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest

from kminilog.errors import SourceError
from kminilog.jobs.source.description import Source, check_outside, check_unchanged
from kminilog.jobs.source.source_files import list_files
from tests.support.errors import error_text
from tests.support.unreadable import without_privileges


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


@pytest.mark.parametrize("url", ["file://{}", "file://localhost{}", "file:{}", "FILE://{}"])
def test_list_files_takes_the_url_of_a_file_or_a_directory(folder, url):
    assert names([url.format(quote(str(folder)))]) == ["a.log", "b.log", "c.log", "ä [1].log"]
    assert names([url.format(quote(str(folder / "ä [1].log")))]) == ["ä [1].log"]


@pytest.mark.parametrize(
    "url", ["s3a://bucket/x", "hdfs://name/x", "https://host/x", "file://x/y", "FTP://h/x"]
)
def test_list_files_of_another_url_names_the_way_by_a_dataframe(url):
    with pytest.raises(SourceError, match=f"{url}: is no path of this machine; .* the DataFrame"):
        list_files([url])


@pytest.mark.parametrize(
    ("mark", "table"),
    [
        ("_delta_log", "Delta Lake"),
        (".hoodie", "Hudi"),
        ("metadata/v1.metadata.json", "Iceberg"),
        ("_spark_metadata", "Spark Structured Streaming"),
    ],
)
def test_list_files_of_a_table_names_the_way_by_a_dataframe(tmp_path, mark, table):
    (tmp_path / "table" / "day=1").mkdir(parents=True)
    (tmp_path / "table" / "day=1" / "a.log").write_text("a")
    asked = [
        str(tmp_path / part) for part in ("", "table", "table/day=1", "table/*/*.log", "table/**")
    ]
    assert [path for path in asked if names([path]) != ["a.log"]] == []
    (tmp_path / "table" / mark).mkdir(parents=True)
    told = re.compile(rf"table: it is a table of {table}, .* the DataFrame")
    said = {path: error_text(SourceError, list_files, [path]) for path in asked}
    assert {path: text for path, text in said.items() if not told.search(text)} == {}
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
    check_unchanged(Source((str(folder),)), files)
    change(folder / "b.log")
    with pytest.raises(SourceError, match=r"b\.log: it was changed while it was read"):
        check_unchanged(Source((str(folder),)), files)


def test_empty_name_is_refused_and_is_not_the_root():
    """As of a variable of the shell that has no value."""
    with pytest.raises(SourceError, match="the name is empty; name a file"):
        list_files([""])


@pytest.mark.parametrize(
    "second", ["{0}/a.log", "{0}/../logs/a.log", "{0}/link", "{0}", "{0}/*.log"]
)
def test_list_files_refuses_a_file_that_is_given_twice(folder, second):
    (folder / "link").symlink_to(folder / "a.log")
    with pytest.raises(SourceError, match="names a file that is there already, as "):
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


def test_file_that_is_new_since_the_listing_is_named(folder):
    paths = [str(folder)]
    files = list_files(paths)
    (folder / "aa.log").write_bytes(b"x")
    with pytest.raises(SourceError, match=r"aa\.log: it came after the source was listed"):
        check_unchanged(Source(tuple(paths)), files)


def test_files_below_a_link_to_a_directory_are_read_and_loops_end(folder, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "o.log").write_bytes(b"o")
    (folder / "linked").symlink_to(tmp_path / "other")
    (folder / "sub" / "loop").symlink_to(folder)
    expected = ["a.log", "b.log", "o.log", "c.log", "ä [1].log"]
    for asked in (folder, folder / "**"):
        assert names([str(asked)]) == expected, asked


@pytest.mark.parametrize("second", ["hard", "soft"])
def test_second_name_of_a_file_is_named_with_the_first(folder, second):
    make = os.link if second == "hard" else os.symlink
    make(folder / "a.log", folder / "z.log")
    with pytest.raises(SourceError, match=r"z\.log: .* is there already, as .*a\.log$"):
        list_files([str(folder)])


def test_folder_of_a_table_may_begin_with_an_underscore(tmp_path):
    for name in ("_k=1/a.txt", "k=2/b.txt", "_tmp/c.txt", ".k=1/d.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"x")
    assert names([str(tmp_path)]) == names([str(tmp_path / "*")]) == ["a.txt", "b.txt"]
    assert names([str(tmp_path / "**" / "*.txt")]) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("pattern", ["_*", "[_]*", "_[!x]*"])
def test_pattern_that_spells_the_underscore_finds_hidden_names(folder, pattern):
    assert names([str(folder / pattern)]) == ["_SUCCESS", "d.log"]


def test_two_stars_keep_the_directory_that_was_named(folder):
    for asked in (folder, folder / "**"):
        files = list_files([str(asked)])
        assert {file.directory for file in files} == {str(folder)}, asked


@pytest.mark.parametrize("pattern", ["no", "no/a.txt", "*/a.txt", "**/*.txt", "**"])
def test_directory_that_cannot_be_read_is_named(tmp_path, pattern):
    for name in ("no/a.txt", "yes/a.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "no").chmod(0)
    with without_privileges(), pytest.raises(SourceError, match=r"no.*: Permission denied"):
        list_files([str(tmp_path / pattern)])
    (tmp_path / "no").chmod(0o700)


def test_files_of_the_log_dir_itself_are_refused(folder, tmp_path):
    source, files = Source((str(folder),)), list_files([str(folder)])
    check_outside(source, files, tmp_path / "elsewhere", "t")
    check_outside(source, files, Path(f"{folder}2"), "t")
    with pytest.raises(SourceError, match=r"c\.log: it is a file of the log dir .*sub itself"):
        check_outside(source, files, folder / "sub", "t")
