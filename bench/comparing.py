"""Verification beside tools that compare tables: the same rows, the same machine, one run.

Rows have an id, a customer, an item, an amount and a note of 40 to 59 letters, in one Parquet file.
Beside it stand files with no difference, with one other amount, and with another amount in each
100th row.

    kminilog    the rows are a topic already; `verify` compares it with the file, in Spark
    datacompy   reads both files in Spark, joins them by the id, and reports ten rows of a column
    reladiff    both files become tables in one DuckDB, then it compares them by the id (an heir of
                data-diff)

The work differs. kminilog needs no column that is unique, and reads each byte of the log: it also
checks CRCs, offsets, indexes, the order of messages of a key and where they belong. The others need
such a column, and know nothing of a log. They are installed in an environment of their own, in a
temporary directory; what cannot be installed is left out, and said.
`python -m bench.comparing [ROWS]` shows this part only.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.ingesting import CONFIG
from kminilog.jobs.ingest.job import ingest_with
from kminilog.jobs.source.description import Source
from kminilog.jobs.spark.ingest.job import SparkIngest
from kminilog.jobs.spark.runtime.session import spark_session
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.system import SystemClock
from kminilog.verification.account.job import verify_with
from kminilog.verification.account.spark import SparkEngine
from tests.support.process_memory import tree_peak

ROWS = 2_000_000
ROUNDS = 3
CASES = {"none": 0, "one": 1, "1 %": 100}  # each so many-th row; of one, the last
PACKAGES = {"datacompy": ("datacompy", "pyspark[sql]"), "reladiff": ("reladiff[duckdb]",)}
KEYS = {"kminilog": "no", "datacompy": "a unique one", "reladiff": "a unique one"}


def make_files(directory: Path, rows: int) -> None:
    numbers = np.arange(rows)
    amounts = (numbers * 7919 % 100_000) / 100
    letters = "The quick brown fox jumps over the lazy dog, then it sleeps. "
    table = {
        "id": numbers,
        "customer": [f"user{number % 100_000:06d}" for number in range(rows)],
        "item": [f"item {number * 31 % 997}" for number in range(rows)],
        "amount": amounts,
        "note": [letters[: 40 + number % 20] for number in range(rows)],
    }
    pq.write_table(pa.table(table), directory / "stored.parquet")
    for case, every in CASES.items():
        changed = numbers[::every] if every > 1 else numbers[rows - every :]
        other = amounts.copy()
        other[changed] += 0.01
        pq.write_table(pa.table(table | {"amount": other}), directory / f"{case}.parquet")


def kminilog(directory: str, rounds: str, *cases: str) -> None:
    """Print what the others print (`comparing_others`)."""
    folder = Path(directory)
    spark = spark_session("local[2]", app_name="kminilog-bench", config=CONFIG)

    def source(case: str) -> Source:
        return Source((str(folder / f"{case}.parquet"),), "parquet", key="customer")

    log_dir = folder / "log"
    ingest_with(SparkIngest(spark), log_dir, source("stored"), topic="t", partitions=8)
    for number in range(int(rounds) + 1):
        for case in cases:
            began = time.perf_counter()
            engine, against = SparkEngine(spark), source(case)
            report = verify_with(engine, SystemClock(), LogDir(log_dir), ["t"], against=against)
            taken = time.perf_counter() - began
            found = f"{report.conservation['altered']} altered, {report.verdict}"
            if number:
                print(json.dumps({"case": case, "seconds": taken, "found": found}), flush=True)
    spark.stop()


def installed(directory: Path, tool: str) -> Path | None:
    """Return the Python of an environment that has a tool; None if it cannot be installed."""
    home = directory / f"{tool}-environment"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    command = [python, "-m", "pip", "install", "-q", *PACKAGES[tool]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"  {tool:12}cannot be installed: {done.stderr.strip().splitlines()[-1]}")
        return None
    versions = "import sys, importlib.metadata as m; print(*(m.version(n) for n in sys.argv[1:]))"
    names = [name.partition("[")[0] for name in PACKAGES[tool]]
    told = subprocess.run([python, "-c", versions, *names], capture_output=True, text=True)
    print("  " + ", ".join(map(" ".join, zip(names, told.stdout.split(), strict=True))))
    return python


def run(tool: str, command: list[str | Path], yardsticks: dict[str, float]) -> None:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        peak = tree_peak(process)
        told, _ = process.communicate()
    lines = [json.loads(line) for line in told.splitlines() if line.startswith(b"{")]
    if process.returncode:
        print(f"  {tool:12}ended with exit code {process.returncode}")
        return
    for case in CASES:
        own = [line for line in lines if line["case"] == case]
        taken = statistics.median(line["seconds"] for line in own)
        times = taken / yardsticks.setdefault(case, taken)
        print(
            f"  {tool:12}{case:8}{taken:9.2f} s{times:7.2f} x{peak >> 20:8} MiB"
            f"  {KEYS[tool]:14}{own[0]['found']}",
            flush=True,
        )


def measure(rows: int = ROWS) -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        make_files(directory, rows)
        pythons = {tool: installed(directory, tool) for tool in PACKAGES}
        print(f"\n{rows} rows; the memory is that of all processes of a tool together, at most")
        print(f"  {'':12}{'differ':8}{'seconds':>11}{'':9}{'memory':>12}  {'key':14}found")
        yardsticks: dict[str, float] = {}
        words = [name, str(ROUNDS), *CASES]
        run("kminilog", [sys.executable, "-m", "bench.comparing", *words], yardsticks)
        for tool, python in pythons.items():
            if python:
                others = Path(__file__).with_name("comparing_others.py")
                run(tool, [python, others, tool, *words], yardsticks)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        kminilog(*sys.argv[1:])
    else:
        measure(*map(int, sys.argv[1:]))
