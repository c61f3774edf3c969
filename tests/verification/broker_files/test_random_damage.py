"""Random damage to a partition of some hundred batches: none is `ok`, and none a traceback.

A damage is one of: a bit, a cut, two ranges swapped, a range of zeros, a doubled batch, or an index
whose numbers are shifted. `damages` is also what the comparison with Kafka's own reader does.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kminilog.system import SystemClock
from kminilog.verification.broker_files.report import verify_broker
from tests.support.broker_files.damages import damage, partition_of_all_kinds


def _damaged(directory: Path, seeds: range) -> Iterator[tuple[str, Path]]:
    """Yield what was done, and the log directory that it was done to."""
    writer = partition_of_all_kinds(directory / "whole")
    there = directory / "damaged"
    for seed in seeds:
        shutil.copytree(writer.log_dir, there)
        yield f"seed {seed}: {damage(Random(seed), there / writer.name, writer)}", there
        shutil.rmtree(there)


def _verdicts(directory: Path, seeds: range) -> list[str]:
    """Return what was taken for whole."""
    wrong = []
    for what, log_dir in _damaged(directory, seeds):
        report = verify_broker(log_dir, clock=SystemClock(), strict_index=True)
        if report.verdict == "ok":
            wrong.append(what)
            continue
        usual = verify_broker(log_dir, clock=SystemClock())
        has_note = any(one.option == "--strict-index" for one in usual.unchecked)
        if usual.verdict == "ok" and not has_note:
            wrong.append(f"{what}, without --strict-index")
    return wrong


def test_random_damage_is_never_ok(tmp_path: Path):
    assert _verdicts(tmp_path, range(60)) == []


@pytest.mark.soak
def test_random_damage_is_never_ok_in_2000_cases(tmp_path: Path):
    assert _verdicts(tmp_path, range(2000)) == []
