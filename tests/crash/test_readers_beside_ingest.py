"""Real ingests, by both plans, beside a process that reads everything again and again.

Whether it reads in the moment of a publication is a matter of luck here; there,
test_readers_beside_publication.py sees to it.
"""

import json

import pytest

from tests.support.cli.command_line import CommandLine
from tests.support.processes import finish, read_line, start

PLANS, PARTITIONS, ROWS = ["sorted", "runs", "sorted"], 3, 3000


@pytest.mark.usefixtures("spark")
def test_reader_beside_ingests_sees_whole_jobs_without_gap_or_duplicate(tmp_path, dialect):
    kminilog = CommandLine(tmp_path / "log")
    config = [
        "--partitions",
        PARTITIONS,
        "--dialect",
        dialect.name,
        "--config",
        "segment.bytes=900",
    ]
    kminilog.ok("topic", "create", "t", *config)
    whole = [[0] * PARTITIONS]  # where the partitions end after each job
    with start("crash.polling_process", kminilog.log_dir, len(PLANS) * ROWS) as reading:
        try:
            assert read_line(reading) == "ready"
            for job, plan in enumerate(PLANS):
                rows = b"".join(b"k%d %d %d\n" % (n % 50, job, n) for n in range(ROWS))
                source = tmp_path / f"{job}.txt"
                source.write_bytes(rows)
                to = ["--topic", "t", "--plan", plan, "--key-regex", "^k[0-9]+", "--json"]
                result = kminilog("ingest", source, *to)
                assert result.code == 0, result
                ends = dict(enumerate(whole[-1]))
                ends |= {p["partition"]: p["next_offset"] for p in result.document["partitions"]}
                whole.append(list(ends.values()))
            polled = json.loads(finish(reading))
        finally:
            reading.kill()
    stages = set()
    at_least = 0
    for poll in polled:
        for partition, end in poll:
            ends = [each[partition] for each in whole]
            assert end in ends[at_least:], f"{end} in partition {partition} is no whole job"
            at_least = ends.index(end)
            stages.add(at_least)
    assert whole[-1] == [end for _, end in polled[-1]]
    assert sum(whole[-1]) == len(PLANS) * ROWS
    assert len(stages) > 1
