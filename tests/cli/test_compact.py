"""`compact`: what it says and prints; tests/storage/test_compaction.py has what it does."""

import json

import pytest

from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.damage import flip_byte

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


def test_compact_of_no_topic_is_one_line(loaded):
    assert_one_line(loaded("compact", "none"), 2, "none")
    assert_one_line(loaded("compact", "none", "--dry-run"), 2, "none")
