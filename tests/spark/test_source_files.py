import os
from pathlib import Path

import pytest

from kminilog.job_errors import SourceError
from kminilog.source.files import SourceFile, list_files


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
    assert first == SourceFile(0, str(folder / "a.log"), 5, None)
    assert second == SourceFile(1, str(folder / "sub" / "c.log"), 9, str(folder / "sub"))


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
