"""`demo`, and the access log that it makes up."""

import gzip
import json
import re
import subprocess
from collections import Counter

import pytest

from kminilog.cli.demo import access_log
from tests.support.cli.command_line import PROGRAM, CommandLine, assert_one_line, environment

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


def test_demo_keep_of_no_directory_is_one_line(kminilog, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = kminilog("demo", "--documents", "--keep", "")
    assert_one_line(run, 2, "'--keep': the name is empty; name a directory")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine").write_bytes(b"")
    run = kminilog("demo", "--documents", "--keep", "mine")
    assert_one_line(run, 2, "--keep mine: it is a file; name an empty or new directory")


def test_demo_missing_input_is_one_line(kminilog, tmp_path):
    assert_one_line(kminilog("demo", "--input", tmp_path / "no.log"), 2, "no.log")


@pytest.mark.usefixtures("spark")
def test_demo_ingests_verifies_and_finds(kminilog, tmp_path):
    source, keep = tmp_path / "access.log.gz", tmp_path / "keep"
    source.write_bytes(gzip.compress(b"".join(access_log(2_000, seed=5))))
    run = kminilog("demo", "--input", source, "--keep", keep)
    assert run.code == 0, run
    assert "verdict: ok" in run.out
    assert "The names are sorted, so a binary search works." in " ".join(run.out.split())
    assert re.search(r"Found: offset \d+ begins at byte \d+", run.out)
    assert f"go on with: kminilog --log-dir {keep / 'kminilog-data'} ls" in run.out
    listed = CommandLine(keep / "kminilog-data").ok("ls", "access", "--json").document
    assert sum(segment["message_count"] for segment in listed) == 2_000
    assert len(listed) > 3


@pytest.mark.spark
@pytest.mark.xdist_group("spark-cluster")
def test_demo_as_a_process_of_its_own_leaves_nothing_behind(tmp_path):
    process = subprocess.run(
        [*PROGRAM, "demo", "--rows", "300", "--json"],
        capture_output=True,
        env={**environment(), "TMPDIR": str(tmp_path), "NO_COLOR": "1"},
    )
    assert process.returncode == 0, process
    summary = json.loads(process.stdout)
    assert summary["verify"]["verdict"] == "ok"
    assert summary["ingest"]["topic"] == summary["topic"]["topic"] == "access"
    assert sum(found["log_end_offset"] for found in summary["topic"]["partitions"]) == 300
    client = summary["find"]["message"]["key"]
    assert summary["find"]["message"]["value"].startswith(f"{client} - - [")
    assert (summary["kept"], summary["source"]["generated"]) == (False, True)
    lines = process.stderr.decode().splitlines()
    assert [line for line in lines if not line.startswith("kminilog: Demo")] == []
    assert not list(tmp_path.glob("kminilog-demo-*"))


def test_demo_of_the_documents_finds_their_message_without_spark(kminilog, tmp_path, no_session):
    kept = tmp_path / "kept"
    run = kminilog.ok("demo", "--documents", "--keep", kept, "--json")
    found = run.document["find"]
    assert (found["segment"], found["offset"]) == ("00000000000000368769", 368776)
    assert found["index_entry"] == {"offset": 368775, "position": 1407, "relative_offset": 6}
    index = (kept / "kminilog-data" / "documents-0" / "00000000000000368769.index").read_bytes()
    assert index.startswith(bytes.fromhex("00000003 000001f1"))  # their entry 3,497
    text = " ".join(kminilog.ok("demo", "--documents").out.split())
    assert "Found: offset 368776 begins at byte 1500" in text
    assert "00000000000000368769.index begins with the entries 3,497, 6,1407, 8,1686 " in text
    oldest = "00000000000000000000"
    assert f"`kminilog retain` would delete {oldest}, and no newer segment" in text
    assert_one_line(kminilog("demo", "--documents", "--master", "local[1]"), 2, "without Spark")
    for option in ("--rows", "--seed"):
        assert_one_line(kminilog("demo", "--documents", option, 5), 2, "drop --rows and --seed")
