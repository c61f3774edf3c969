"""Kafka's clients at work: `kminilog serve`, in turns with a real Kafka 0.8.2.2 broker.

    produce v0   kcat sends messages of format v0, which both store as they come
    produce v2   kcat sends today's record batches, which `serve` makes messages of v0; the real
                 broker knows none
    fetch        kcat reads all of them back

One kcat, 500,000 messages of 110 bytes, one partition. Both brokers run all the time, and have the
same two processors. Besides: how long a produce request of one message takes, and how much memory
the process had at most. `python -m bench.serving [MESSAGES]` shows this part only.
"""

import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.wire.schemas import encode as encode_message
from tests.support.conformance.real_broker import real_broker
from tests.support.conformance.served import KCAT_V0, served

MESSAGES, VALUE_BYTES, ROUNDS = 500_000, 84, 5  # with 26 bytes in front of it: 110
REQUESTS = 2_000


def kcat(*words: str, lines: Path | None = None) -> float:
    """Return the seconds that a kcat takes."""
    options = ["-l", str(lines)] if lines else []
    started = time.perf_counter()
    subprocess.run(["kcat", "-q", *words, *options], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def produce_milliseconds(port: int) -> list[float]:
    """Return how long each produce request of one message took."""
    records = encode(KAFKA, 0, None, bytes(VALUE_BYTES))
    partition = {"index": 0, "records": records}
    request = {"acks": 1, "timeout_ms": 1000}
    body = encode_message(
        "ProduceRequest",
        0,
        request | {"topic_data": [{"name": "single", "partition_data": [partition]}]},
    )
    header = {"api_key": 0, "api_version": 0, "correlation_id": 1, "client_id": "bench"}
    frame = encode_message("RequestHeader", 0, header) + body
    took = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        stream = connection.makefile("rb")
        for _ in range(REQUESTS):
            started = time.perf_counter()
            connection.sendall(len(frame).to_bytes(4) + frame)
            stream.read(int.from_bytes(stream.read(4)))
            took.append(1000 * (time.perf_counter() - started))
    return took


def peak_memory(log_dir: Path) -> int:
    """Return the greatest resident set of the process that serves a log dir, in MB."""
    command = ["pgrep", "-f", f"kminilog --log-dir {log_dir} serve"]
    (number,) = subprocess.run(command, capture_output=True, text=True).stdout.split()
    status = Path(f"/proc/{number}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def measure(messages: int = MESSAGES) -> None:
    """Print messages in a second, and the ratios to the real broker."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as temporary:
        lines = Path(temporary) / "lines.txt"
        lines.write_text("".join(f"{number:0{VALUE_BYTES}}\n" for number in range(messages)))
        options = ("--auto-create-topics",)
        with (
            served(Path(temporary) / "log", *options) as ours,
            real_broker(Path(temporary) / "real") as real,
        ):
            _measure(ours, f"127.0.0.1:{real}", lines, messages)
            print(f"memory        kminilog {peak_memory(Path(temporary) / 'log')} MB at most")


def _measure(ours: str, real: str, lines: Path, messages: int) -> None:
    for address in (ours, real):  # it creates the topics
        kcat("-b", address, "-P", "-t", "single", *KCAT_V0, lines=lines)
    took: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS + 1):
        topic = f"topic-{number}"
        for name, address in (("kminilog", ours), ("kafka", real)):
            of_round = {
                "produce v0": kcat("-b", address, "-P", "-t", topic, *KCAT_V0, lines=lines),
                "fetch": kcat("-b", address, "-C", "-t", topic, "-e", *KCAT_V0),
            }
            if name == "kminilog":
                v2 = f"{topic}-v2"
                of_round["produce v2"] = kcat("-b", address, "-P", "-t", v2, lines=lines)
                of_round["fetch, today"] = kcat("-b", address, "-C", "-t", v2, "-e")
            for what, seconds in of_round.items():
                took.setdefault((what, name), []).append(seconds)
    for what in ("produce v0", "produce v2", "fetch", "fetch, today"):
        of_real = took["produce v0" if what.startswith("produce") else "fetch", "kafka"][1:]
        mine = took[what, "kminilog"][1:]
        rates = [messages / statistics.median(each) / 1000 for each in (mine, of_real)]
        print(
            f"{what:<13} kminilog {rates[0]:5.0f}k/s   kafka {rates[1]:5.0f}k/s   "
            f"{rates[0] / rates[1]:.2f} x"
        )
    for name, address in (("kminilog", ours), ("kafka", real)):
        times = sorted(produce_milliseconds(int(address.rpartition(":")[2])))
        p99 = times[int(len(times) * 0.99)]
        print(f"one message   {name:<8} {statistics.median(times):.2f} ms median, {p99:.2f} ms p99")


if __name__ == "__main__":
    measure(*map(int, sys.argv[1:]))
