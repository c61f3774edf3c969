"""The same 2,000 random damages judged by Kafka's own reader, FileRecords of kafka-clients.

It opens a `.log`, asks each batch `ensureValid`, and decodes every record. What it takes for whole
and `verify` does not is what the table of docs/broker-files.md says; the reverse does not happen.
"""

import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from kminilog.system import SystemClock
from kminilog.verification.broker_files.report import verify_broker
from tests.support.broker_files.damages import damage, partition_of_all_kinds
from tests.support.broker_files.suspicious import suspicious_directory
from tests.support.conformance.wheel_oracles import require, run_java

pytestmark = pytest.mark.conformance

CASES = 2000
PROGRAM = Path(__file__).parents[1] / "support" / "conformance" / "FileRecordsOracle.java"
# What Kafka's reader does not see, by the classes that `verify` gives it: rows of the page.
NOT_SEEN = {
    "an index": {
        "index-order",
        "index-position",
        "index-offset",
        "index-past-end",
        "index-sparse",
        "time-index-order",
        "time-index-entry",
        "time-index-sparse",
        "transaction-index-entry",
        "transaction-index-sparse",
    },
    "the base offset": {"offset-disorder", "offset-overlap", "offset-gap", "name-base-mismatch"},
    "the magic": {"bad-magic"},
    "the leader epoch": {"leader-epoch", "truncated"},
    "the end of the log": {"lost-end", "open-transaction"},
}


def test_damage_that_kafkas_reader_takes_for_whole_has_a_row(tmp_path: Path):
    writer = partition_of_all_kinds(tmp_path / "whole")
    there = tmp_path / "damaged"
    whole = {path.name: path.read_bytes() for path in writer.directory.iterdir()}
    cases = []
    for seed in range(CASES):
        shutil.copytree(writer.log_dir, there)
        what = damage(Random(seed), there / writer.name, writer)
        counts = verify_broker(there, clock=SystemClock(), strict_index=True).tally.counts()
        files = (there / writer.name).iterdir()
        file = next(path for path in files if path.read_bytes() != whole[path.name])
        log = file.with_suffix(".log")
        kept = tmp_path / f"{seed}.log"
        shutil.copy(log, kept)
        cases.append((f"seed {seed}: {what}", {kind.value for kind in counts}, kept))
        shutil.rmtree(there)
    names = "".join(f"{kept}\n" for _, _, kept in cases)
    lines = require("Kafka's Java client", lambda: run_java(PROGRAM, names)).splitlines()
    seen, unexplained, rows = 0, [], Counter[str]()
    for (what, classes, _), line in zip(cases, lines, strict=True):
        _, valid_bytes, size, thrown = line.split()
        if thrown != "-" or valid_bytes != size:
            seen += 1
            if not classes:
                unexplained.append(f"{what}: only Kafka's reader: {line}")
            continue
        why = [row for row, kinds in NOT_SEEN.items() if classes & kinds]
        rows.update(why[-1:])
        if not why:
            unexplained.append(f"{what}: {sorted(classes)}")
    print(f"Kafka's reader sees {seen} of {CASES}; not seen: {dict(rows)}")
    assert unexplained == []


def test_page_shows_what_kafkas_reader_says_of_its_directory(tmp_path: Path):
    writer = suspicious_directory(tmp_path / "kafka-logs")
    names = "".join(f"{path}\n" for path in sorted(writer.directory.glob("*.log")))
    printed = require("Kafka's own Java client", lambda: run_java(PROGRAM, names))
    page = Path(__file__).parents[2].joinpath("docs", "suspicious-directory.md").read_text()
    assert f"```text\n{printed}```" in page
