"""Small clusters to break: requests, files of replicas, and what a leader holds."""

from pathlib import Path

from kminilog.clock import ManualClock
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.cluster.replica import FETCH_BYTES
from kminilog.cluster.requests import Produced
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.topics import Topic

ORDERS = TopicPartition("orders", 0)
SETTINGS = TopicSettings(segment_bytes=512, index_interval_bytes=100)


def request(*values: bytes | None, key: bytes | None = None) -> bytes:
    """A produce request with these values."""
    return b"".join(encode(KAFKA, 0, key, value) for value in values)


def open_cluster(
    path: Path,
    *,
    brokers: int = 3,
    replicas: int = 3,
    partitions: int = 1,
    dialect: Dialect = DOCUMENTED,
    clock: ManualClock | None = None,
    replica_fetch_max_bytes: int = FETCH_BYTES,
) -> MiniCluster:
    """A new cluster with one topic, `orders`."""
    cluster = MiniCluster.open(
        path,
        brokers=brokers,
        clock=clock or ManualClock(),
        replica_fetch_max_bytes=replica_fetch_max_bytes,
    )
    cluster.create_topic(Topic("orders", partitions, dialect, SETTINGS), replicas)
    return cluster


def produce(cluster: MiniCluster, *values: bytes, acks: int = 1) -> Produced:
    return cluster.produce(ORDERS, request(*values), acks=acks)


def replicate_until_quiet(cluster: MiniCluster) -> None:
    """Two rounds more than anything is copied in: the followers' offsets, then the answer."""
    while cluster.replicate():
        pass
    cluster.replicate()
    cluster.replicate()


def values_on(path: Path, node: int, partition: TopicPartition = ORDERS) -> list[bytes | None]:
    """What a broker's files hold, read beside it."""
    reader = LogDir(path / f"broker-{node}").reader(partition)
    values: list[bytes | None] = []
    while messages := reader.read(len(values), 1 << 20):
        values += [message.value for message in messages]
    return values


def pairs_on(path: Path, node: int, partition: TopicPartition = ORDERS) -> dict[str, bytes]:
    """The bytes of a replica's `.log` and `.index` files by name."""
    directory = path / f"broker-{node}" / str(partition)
    return {
        file.name: file.read_bytes()
        for file in sorted(directory.iterdir())
        if file.suffix in {".log", ".index"}
    }
