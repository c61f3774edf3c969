"""The quarantine files of the jobs that a comparison looks at."""

import os
from pathlib import Path

import pytest

from kminilog.errors import NotARegularFileError
from kminilog.storage.manifests import Manifest, quarantine_path
from kminilog.verification.account.rejections import quarantine_files


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir])
def test_quarantine_file_that_is_none_is_named(tmp_path, make):
    jobs = [Manifest(job_id, "t", [], {}) for job_id in ("none", "some", "odd")]
    (tmp_path / ".quarantine").mkdir()
    some = quarantine_path(tmp_path, "some")
    some.write_text("{}")
    assert quarantine_files(tmp_path, jobs) == [some]
    make(quarantine_path(tmp_path, "odd"))
    with pytest.raises(NotARegularFileError, match=r"odd\.jsonl: a (FIFO|directory)"):
        quarantine_files(tmp_path, jobs)
