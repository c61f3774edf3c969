"""A real Kafka 0.8.2.2 broker with its ZooKeeper, as processes that the block ends."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.conformance.kafka_oracle import java, kafka_jars
from tests.support.processes import Process, end_at_once, wait_until

_LOGGING = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.SimpleLayout
"""


def free_port() -> int:
    """Return a port that nobody listens at now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def is_open(port: int) -> bool:
    """Tell if somebody listens there."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@contextmanager
def real_broker(directory: Path, **settings: object) -> Iterator[int]:
    """Yield the port of a broker whose log dir is `directory`/logs; settings by `_` for dots."""
    directory.mkdir(exist_ok=True)
    zookeeper, port = free_port(), free_port()
    given = {
        "broker.id": 0,
        "host.name": "127.0.0.1",
        "port": port,
        "log.dirs": directory / "logs",
        "zookeeper.connect": f"127.0.0.1:{zookeeper}",
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    properties = directory / "server.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
    told = directory / "log4j.properties"
    told.write_text(_LOGGING)
    classes = [f"-Dlog4j.configuration=file:{told}", "-cp", os.pathsep.join(map(str, kafka_jars()))]
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    keeper = [java(), *classes, main, str(zookeeper), str(directory / "zookeeper")]
    broker = [java(), *classes, "kafka.Kafka", str(properties)]
    with (directory / "output.txt").open("w") as output:
        started = [Process[str](keeper, stdout=output, stderr=output)]
        try:
            wait_until(lambda: is_open(zookeeper), alive=started[0])
            started.append(Process[str](broker, stdout=output, stderr=output))
            said = directory / "output.txt"
            wait_until(lambda: "[Kafka Server 0], started" in said.read_text(), alive=started[1])
            yield port
        finally:
            for process in reversed(started):
                process.terminate()  # the broker writes what it has
                process.wait()
                end_at_once(process)
