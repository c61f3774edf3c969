"""`kminilog serve` as a process, and clients that talk to it: each a program of its own.

A client reads a line `address topic group count`, sends so many messages, reads them back as a
member of the group, commits, and prints a line for each: partition, key, value.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.conformance.wheel_oracles import (
    KAFKA_PYTHON,
    LIBRDKAFKA,
    PYTHON_CLIENTS,
    OracleAbsentError,
    installed,
    keep,
    oracles,
    run_java,
    run_python,
)
from tests.support.processes import Process, end_at_once

CLIENTS = Path(__file__).with_name("clients")
KAFKAJS = "kafkajs@2.2.4"
KCAT_V0 = ("-X", "api.version.request=false", "-X", "broker.version.fallback=0.8.2")


@contextmanager
def served(log_dir: Path, *options: str) -> Iterator[str]:
    """Yield the address of a broker on a log dir; at the end SIGTERM stops it, and it flushes."""
    words = ["--log-dir", str(log_dir), "serve", "--port", "0", *options]
    command = [sys.executable, "-m", "kminilog", *words]
    with (log_dir.parent / "served.txt").open("w") as errors:
        process = Process[str](command, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            assert process.stdout
            ready = process.stdout.readline()
            assert ready.startswith("listening on "), (log_dir.parent / "served.txt").read_text()
            yield ready.split()[-1]
            process.terminate()
            assert process.wait() == 143
        finally:
            end_at_once(process)


def kcat(*options: str, stdin: str = "") -> str:
    """Run kcat; return its stdout."""
    if shutil.which("kcat") is None:
        raise OracleAbsentError("there is no kcat on this machine")
    process = subprocess.run(["kcat", *options], input=stdin, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr[:500]
    return process.stdout


def _kcat_trip(line: str) -> str:
    address, topic, group, count = line.split()
    lines = "".join(f"k{number % 97}:value {number}\n" for number in range(int(count)))
    kcat("-b", address, "-P", "-t", topic, "-K:", stdin=lines)
    wanted = ("-o", "beginning", "-c", count, "-q", "-f", r"%p\t%k\t%s\n")
    return kcat("-b", address, "-G", group, *wanted, topic)


def _kafkajs() -> Path:
    """Return the directory whose node_modules have kafkajs."""
    directory = oracles() / KAFKAJS
    if not directory.exists():
        fetched = oracles() / f"{KAFKAJS}-{os.getpid()}"
        fetched.mkdir()
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        try:
            subprocess.run([*command, KAFKAJS], cwd=fetched, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            shutil.rmtree(fetched)
            raise OracleAbsentError(f"npm install {KAFKAJS} failed: {error}") from error
        keep(fetched, directory)
    return directory


def _kafkajs_trip(line: str) -> str:
    environment = {**os.environ, "NODE_PATH": str(_kafkajs() / "node_modules")}
    environment["KAFKAJS_NO_PARTITIONER_WARNING"] = "1"
    command = ["node", str(CLIENTS / "kafkajs.js")]
    process = subprocess.run(command, input=line, env=environment, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr[:500]
    return process.stdout


def _python_trip(program: str, *requirements: str, alone: bool = False) -> Callable[[str], str]:
    def trip(line: str) -> str:
        path = installed(*requirements, alone=alone)
        return run_python(CLIENTS / program, path=path, stdin=line)

    return trip


TRIPS: dict[str, Callable[[str], str]] = {
    "kcat": _kcat_trip,
    "confluent-kafka": _python_trip("confluent.py", LIBRDKAFKA, alone=True),
    "kafka-python 2": _python_trip("kafka_python.py", KAFKA_PYTHON, alone=True),
    "kafka-python 3": _python_trip("kafka_python.py", *PYTHON_CLIENTS["kafka"]),
    "aiokafka": _python_trip("aio_kafka.py", *PYTHON_CLIENTS["aiokafka"]),
    "kafkajs": _kafkajs_trip,
    "Java": lambda line: run_java(CLIENTS / "Trip.java", line),
}
"""What makes the trip with each client, at its default settings."""
