"""The same as test_reasons, for the exercises of lab 9 without Spark."""

import json

import pytest

from kminilog.course.judging.outcome import ERROR, FAIL
from tests.support.course.student import start_lab, told

KEYED = """\
from kminilog.format.hashing import murmur2, to_positive
def murmur2_partition(key, partitions):
    {first}
    return to_positive(murmur2({key})) % {count}
"""
RIGHT = {"first": "pass", "key": "key", "count": "partitions"}
OTHERS = {
    "always 0": (KEYED.format(**RIGHT | {"count": "1"}), FAIL, None),
    "one partition too few": (KEYED.format(**RIGHT | {"count": "(partitions - 1)"}), FAIL, None),
    "the first eight bytes": (KEYED.format(**RIGHT | {"key": "key[:8]"}), FAIL, "pass"),
    "the characters": (KEYED.format(**RIGHT | {"key": "key.decode().encode()"}), ERROR, "pass"),
    "no partition of the empty key": (
        KEYED.format(**RIGHT | {"first": "if not key: return -1"}),
        FAIL,
        "pass",
    ),
    "absolute value for some": (
        KEYED.format(**RIGHT | {"first": "if partitions == 7: return abs(murmur2(key)) % 7"}),
        FAIL,
        "partition-abs",
    ),
}


@pytest.mark.processes
@pytest.mark.parametrize(("answer", "status", "once"), OTHERS.values(), ids=OTHERS)
def test_wrong_partition_gets_no_reason_of_another_one(tmp_path, answer, status, once):
    assert told(start_lab(tmp_path, number=9), "9.1", answer)[:2] == (status, None), once


def test_partition_that_is_the_librarys_fails(tmp_path):
    answer = (
        "from kminilog.partitioners import keyed\n"
        "def murmur2_partition(key, partitions):\n"
        "    return keyed.murmur2_partition(key, partitions)\n"
    )
    told_of = told(start_lab(tmp_path, number=9), "9.1", answer)
    assert told_of[:2] == (FAIL, "imports-reference")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("job", "name", "code"),
    [
        ("monday", "first_offset", None),
        ("wednesday", "first_offset", "next-not-first"),
        ("wednesday", "next_offset", None),
    ],
)
def test_first_offset_of_another_job_has_the_reason_only_if_it_is_the_next_one(
    tmp_path, job, name, code
):
    folder = start_lab(tmp_path, number=9)
    path = folder.path / "files" / "kminilog-data" / ".manifests" / f"{job}.json"
    (part,) = [
        each for each in json.loads(path.read_text())["partitions"] if each["partition"] == 1
    ]
    answers = f"FIRST = {part[name]}\nCOUNT = SUM = 0\n"
    assert told(folder, "9.3", answers)[:2] == (FAIL, code)
