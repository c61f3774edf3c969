"""What tasks need to write: is there enough space?"""

import shutil

import pytest

from kminilog.errors import LogDirError
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.ingest.local_engine import LocalIngest
from kminilog.jobs.ingest.staging import check_space
from kminilog.jobs.source.description import Source


@pytest.fixture
def leave_free(monkeypatch, tmp_path):
    usage = shutil.disk_usage(tmp_path)

    def leave(free_bytes: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=free_bytes))

    return leave


def test_check_space_asks_for_each_message_once_or_with_runs_twice(tmp_path, leave_free):
    leave_free(199)
    check_space(str(tmp_path), "sorted", 199)
    check_space(str(tmp_path), "runs", 99)
    with pytest.raises(LogDirError, match="the job needs about 200 bytes, but only 199 are free"):
        check_space(str(tmp_path), "runs", 100)


def test_ingest_of_many_short_lines_asks_for_what_their_messages_need(tmp_path, leave_free):
    (tmp_path / "lines").write_bytes(b"a line\n" * 1000)
    source, needed_bytes = Source((str(tmp_path / "lines"),)), 2 * (7 + 30) * 1000
    leave_free(needed_bytes - 1)
    with pytest.raises(LogDirError, match=f"the job needs about {needed_bytes} bytes, but only"):
        ingest_with(LocalIngest(), tmp_path / "log", source, topic="t")
    assert not list((tmp_path / "log").glob("t*"))
    leave_free(needed_bytes)
    ingest_with(LocalIngest(), tmp_path / "log", source, topic="t")
