"""How much memory the driver takes: no more for ten times the rows, source comparison included.

Executors are processes of their own here, so what is measured is the driver: its Python, and the
JVM below it. That no row comes to it is asserted, quickly, in all tests of this directory: results
of a job may not have a megabyte (conftest.py).
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.crash.killed_job import environment
from tests.support.process_memory import driver_peaks
from tests.support.random_columns import random_column

MASTER = "local-cluster[2,1,1024]"
GROWTH = 1.25
VALUE_BYTES, KEYS = 100, 1000
pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark-cluster"),
]


def write_source(path: Path, records: int, changed: int = 0) -> None:
    """Write random records; the keys of the first `changed` ones are others."""
    rng = np.random.default_rng(1)
    keys = [b"%010d" % number for number in range(KEYS)]
    with pq.ParquetWriter(path, pa.schema([("k", pa.binary()), ("v", pa.binary())])) as writer:
        for start in range(0, records, rows := 100_000):
            count = min(rows, records - start)
            of_row = rng.integers(0, KEYS, count)
            of_row[: max(changed - start, 0)] += 1
            table = {
                "k": pa.array(keys, pa.binary()).take(pa.array(of_row % KEYS)),
                "v": random_column(rng, count, VALUE_BYTES),
            }
            writer.write_table(pa.table(table))


def peaks_of(directory: Path, *arguments: object) -> dict[str, int]:
    command = [sys.executable, "-m", "kminilog.cli.main", "--log-dir", directory / "log"]
    words = [str(word) for word in [*command, *arguments, "--master", MASTER]]
    (directory / "scratch").mkdir(exist_ok=True)
    with open(directory / "said", "wb") as said:
        process = subprocess.Popen(
            words, env=environment(directory / "scratch"), stdout=said, stderr=said
        )
        found = driver_peaks(process)
    assert process.returncode == 0, (directory / "said").read_text()
    return found


@pytest.mark.soak
@pytest.mark.parametrize(("few", "many"), [(100_000, 1_000_000), (1_000_000, 10_000_000)])
def test_a_driver_takes_no_more_memory_for_more_rows(tmp_path, record_property, few, many):
    taken = []
    for records in (few, many):
        directory = tmp_path / str(records)
        directory.mkdir()
        source = directory / "source.parquet"
        write_source(source, records)
        columns = [source, "--format", "parquet", "--key", "k", "--value", "v"]
        peaks = {
            f"ingest {plan}": peaks_of(
                directory, "ingest", *columns, "--topic", plan, "--partitions", 3, "--plan", plan
            )
            for plan in ("sorted", "runs")
        }
        peaks["verify"] = peaks_of(directory, "verify", "runs", "--against", *columns)
        taken.append({(work, part): peak for work in peaks for part, peak in peaks[work].items()})
    less, more = taken
    told = {
        what: f"{' '.join(what)}: {less[what] >> 20} -> {more[what] >> 20} MiB" for what in less
    }
    for line in told.values():
        record_property("counted", line)
    assert not [told[what] for what in less if more[what] >= GROWTH * less[what]]


@pytest.mark.soak
def test_a_driver_takes_no_more_memory_for_a_million_findings_than_for_one(
    tmp_path, record_property
):
    source = tmp_path / "source.parquet"
    write_source(source, 1_000_000)
    columns = ["--format", "parquet", "--key", "k", "--value", "v"]
    peaks_of(tmp_path, "ingest", source, *columns, "--topic", "t", "--partitions", 3)
    classes = ("altered", "missing", "extra")
    allowed = [word for name in classes for word in ("--allow", name)]
    peaks = []
    for changed in (1, 1_000_000):
        write_source(tmp_path / "changed.parquet", 1_000_000, changed)
        every = tmp_path / f"{changed}.parquet"
        arguments = ["t", "--against", tmp_path / "changed.parquet", *columns, *allowed]
        peaks.append(peaks_of(tmp_path, "verify", *arguments, "--findings", every))
        assert pq.read_metadata(every).num_rows >= changed
    one, million = peaks
    told = {part: f"{part}: {one[part] >> 20} -> {million[part] >> 20} MiB" for part in one}
    for line in told.values():
        record_property("counted", line)
    assert not [told[part] for part in one if million[part] >= GROWTH * one[part]]
