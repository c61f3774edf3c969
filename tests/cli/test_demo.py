"""`demo`, and the access log that it makes up."""

import gzip
import re
from collections import Counter

import pytest

from kminilog.cli.access_log import access_log
from tests.cli.command_line import assert_one_line

LINE = re.compile(
    rb'\S+ - - \[\d\d/May/2015:\d\d:\d\d:\d\d \+0000\] "GET \S+ HTTP/1\.1" \d{3} \d+ "-" "[^"]+"\n'
)


def test_access_log_is_the_same_for_the_same_seed_only():
    assert list(access_log(50, seed=3)) == list(access_log(50, seed=3))
    assert list(access_log(50, seed=3)) != list(access_log(50, seed=4))


def test_access_log_has_the_form_of_the_real_one():
    lines = list(access_log(500))
    assert len(lines) == 500
    assert all(LINE.fullmatch(line) for line in lines)


def test_access_log_is_skewed_towards_few_of_many_clients():
    clients = Counter(line.split(b" ", 1)[0] for line in access_log(10_000))
    assert 800 < len(clients) < 2_000
    ((_, most),) = clients.most_common(1)
    assert 300 < most < 3_000


def test_demo_keep_of_a_full_directory_is_one_line(kminilog, tmp_path):
    (tmp_path / "mine").write_bytes(b"")
    assert_one_line(kminilog("demo", "--keep", tmp_path), 2, "there are files in it")


def test_demo_missing_input_is_one_line(kminilog, tmp_path):
    assert_one_line(kminilog("demo", "--input", tmp_path / "no.log"), 2, "no.log")


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_demo_ingests_verifies_and_finds(kminilog, tmp_path):
    source, keep = tmp_path / "access.log.gz", tmp_path / "keep"
    source.write_bytes(gzip.compress(b"".join(access_log(2_000, seed=5))))
    run = kminilog("demo", "--input", source, "--keep", keep)
    assert run.code == 0, run
    assert "verdict: ok" in run.out
    assert "1. Segment: binary search in" in run.out
    assert str(keep / "kminilog-data") in run.out
    assert kminilog("--log-dir", keep / "kminilog-data", "verify", "--json").document == {
        **kminilog("--log-dir", keep / "kminilog-data", "verify", "--json").document,
        "verdict": "ok",
    }


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_demo_json_is_a_summary_and_leaves_nothing_behind(kminilog, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run = kminilog("demo", "--rows", 500, "--json")
    assert run.code == 0, run
    summary = run.document
    assert summary["verify"]["verdict"] == "ok"
    assert summary["ingest"]["topic"] == summary["topic"]["topic"] == "access"
    assert sum(p["log_end_offset"] for p in summary["topic"]["partitions"]) == 500
    client = summary["find"]["message"]["key"]
    assert summary["find"]["message"]["value"].startswith(f"{client} - - [")
    assert (summary["kept"], summary["source"]["generated"]) == (False, True)
    assert not list(tmp_path.glob("kminilog-demo-*"))
