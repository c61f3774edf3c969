"""`compact`: what it says and prints; tests/storage/log_dir/test_compaction.py has what it does."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.damage import cut_to, files_of, flip_byte

JOBS = 4


@pytest.fixture
def loaded(kminilog: CommandLine, tmp_path, dialect) -> CommandLine:
    """`t`, of two partitions, to which four small jobs have written."""
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"".join(b"%d:value\n" % number for number in range(20)))
    for number in range(JOBS):
        kminilog.ok(
            *("ingest", lines, "--topic", "t", "--partitions", "2", "--dialect", dialect.name),
            *("--key-regex", "^([^:]*):", "--job-id", f"job-{number}", "--engine", "local"),
        )
    return kminilog


def test_compact_says_what_it_joins_and_verify_still_accounts_for_each_job(loaded, tmp_path):
    would = loaded.ok("compact", "t", "--dry-run").out.splitlines()
    assert would[0].startswith(f"would be joined: t-0/{0:020d}, {JOBS} segments, ")
    assert would[2] == f"would be joined: {JOBS} manifests"
    assert loaded.ok("compact", "t").out.splitlines() == [
        line.replace("would be joined", "joined") for line in would
    ]
    assert loaded.ok("compact", "t").out == "nothing to join\n"
    assert len(loaded.ok("ls", "t", "--json").document) == 2
    lines = tmp_path / "lines.txt"
    for job in range(JOBS):
        verified = loaded.ok(
            *("verify", "t", "--against", lines, "--key-regex", "^([^:]*):"),
            *("--job", f"job-{job}", "--engine", "local", "--full", "--json"),
        ).document
        assert verified["verdict"] == "ok"
        assert {"digests", "jobs", "log-ends", "source"} <= {*verified["checked"]}


def test_job_that_is_joined_is_not_written_again(loaded, tmp_path):
    loaded.ok("compact", "t")
    again = loaded.ok(
        *("ingest", tmp_path / "lines.txt", "--topic", "t", "--key-regex", "^([^:]*):"),
        *("--job-id", "job-2", "--engine", "local", "--json"),
    ).document
    assert again["already_committed"]


def test_compact_json_names_segments_and_counts_manifests(loaded):
    document = loaded.ok("compact", "t", "--json").document
    assert (document["topic"], document["dry_run"], document["joined_manifests"]) == (
        "t",
        False,
        JOBS,
    )
    assert [one["partition"] for one in document["joined"]] == [0, 1]
    for one in document["joined"]:
        assert one["segments"][0] == one["segment"] == f"{0:020d}"
        assert len(one["segments"]) == JOBS


def test_compact_leaves_what_is_damaged_with_a_warning_and_exit_code_2(loaded):
    log = loaded.log_dir / "t-0" / f"{0:020d}.log"
    flip_byte(log, 13, mask=1)
    run = loaded("compact", "t", "--json")
    assert_one_line(run._replace(out=""), 2, f"{log}: left as it is: bad-crc")
    assert [one["partition"] for one in json.loads(run.out)["joined"]] == [1]


def segments_of(kminilog: CommandLine, partition: str) -> list[Path]:
    return sorted((kminilog.log_dir / partition).glob("*.log"))


def crash(kminilog: CommandLine) -> None:
    (kminilog.log_dir / ".clean-shutdown").unlink()
    (kminilog.log_dir / "recovery-point-offset-checkpoint").unlink()


@pytest.mark.parametrize("is_after_crash", [False, True])
@pytest.mark.parametrize("slot", [0, 1, 3])
@pytest.mark.parametrize("damage", ["crc", "cut", "gone", "torn", "no index", "no directory"])
def test_compact_dry_run_promises_what_a_run_then_does(loaded, damage, slot, is_after_crash):
    log = segments_of(loaded, "t-0")[slot]
    if damage == "crc":
        flip_byte(log, log.stat().st_size - 1, mask=1)
    elif damage == "cut":
        cut_to(log, log.stat().st_size // 2 - 3)
    elif damage == "gone":
        log.unlink()
        log.with_suffix(".index").unlink()
    elif damage == "torn":
        log.write_bytes(log.read_bytes() + log.read_bytes()[:20])
    elif damage == "no index":
        log.with_suffix(".index").unlink()
    else:
        shutil.rmtree(log.parent)
    if is_after_crash:
        crash(loaded)
    before = files_of(loaded.log_dir)
    planned = loaded("compact", "t", "--dry-run", "--json")
    assert files_of(loaded.log_dir) == before
    done = loaded("compact", "t", "--json")
    assert json.loads(planned.out) == {**json.loads(done.out), "dry_run": True}
    assert planned.code == done.code
    assert planned.err.count("left as it is") == done.err.count("left as it is")


def test_compact_dry_run_without_the_space_for_it_is_the_line_of_a_run(mount):
    disk = mount("size=1m")
    kminilog = CommandLine(disk / "log-dir")
    kminilog.ok("topic", "create", "t", "--partitions", "1", "--config", "segment.bytes=20000")
    for _ in range(30):
        kminilog.ok("produce", "t", stdin=b"x" * 5000 + b"\n" + b"y" * 8000)
    kminilog.ok("topic", "alter", "t", "--config", "segment.bytes=1000000")
    for arguments in (["--dry-run"], []):
        run = kminilog("compact", "t", *arguments)
        assert_one_line(run, 2, "the joined segments take 3", "are free")


def test_compact_of_no_topic_is_one_line(loaded):
    assert_one_line(loaded("compact", "none"), 2, "none")
    assert_one_line(loaded("compact", "none", "--dry-run"), 2, "none")
