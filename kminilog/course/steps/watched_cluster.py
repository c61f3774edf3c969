"""A cluster whose brokers all have a copy of one partition, and what its producers were told.

What a copy has is read from its files; what a producer was told is in its futures. Time is
simulated, and nothing is copied unless somebody asks for it. Source: ours.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path

from kminilog.clock import ManualClock
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.cluster.replica import FETCH_BYTES
from kminilog.course.steps.temporary_partition import PARTITION
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord, RecordMetadata
from kminilog.settings import TopicSettings
from kminilog.storage.partition.reader import PartitionReader
from kminilog.storage.topics import Topic
from kminilog.system import SYSTEM_CHANCE


class WatchedCluster:
    """A cluster in a directory, and a producer for each value of `acks`; `opened` closes both.

    Messages have names, which are their values.
    """

    def __init__(
        self,
        path: Path,
        opened: ExitStack,
        *,
        brokers: int,
        acks: Sequence[int],
        settings: TopicSettings,
    ) -> None:
        clock = ManualClock()
        cluster = MiniCluster.open(path, brokers=brokers, clock=clock)
        self.cluster = opened.enter_context(cluster)
        self.cluster.on_unheard = lambda error: None  # nobody hears of it: that is acks = 0
        topic = Topic(PARTITION.topic, settings=settings)
        topic = cluster.create_topic(topic, brokers, chance=SYSTEM_CHANCE)
        self.producers: dict[int, ManualProducer] = {}
        for value in acks:
            config = {"acks": value, "value.serializer": "string"}
            producer = ManualProducer(
                cluster, config, clock=clock, chance=SYSTEM_CHANCE, alongside=cluster.replicate
            )
            self.producers[value] = opened.enter_context(producer)
        self._readers = {
            node: PartitionReader(
                path / f"broker-{node}" / str(PARTITION), PARTITION, topic.dialect, settings
            )
            for node in range(brokers)
        }
        self.answers: dict[str, Future[RecordMetadata]] = {}
        self.acks_of: dict[str, int] = {}

    def send(self, name: str, acks: int, value: str | None = None) -> None:
        """Send a message to the leader, and wait for no answer."""
        record = ProducerRecord(PARTITION.topic, value=value or name)
        self.answers[name] = self.producers[acks].send(record)
        self.acks_of[name] = acks
        self.producers[acks].step()

    def copy_all(self) -> None:
        """Let the followers ask until they have all, and once more, so that the leader knows it."""
        while self.cluster.replicate():
            pass

    def told(self, name: str) -> str:
        """Return what the producer was told of a message."""
        answer = self.answers[name]
        if not answer.done():
            return "nothing yet"
        if answer.exception():
            return "an error"
        return "nothing" if self.acks_of[name] == 0 else f"stored at {answer.result().offset}"

    def copy(self, node: int) -> list[str]:
        """Return the messages in the files of a broker."""
        reader = self._readers[node]
        return [(each.value or b"").decode() for each in reader.read(0, FETCH_BYTES)]
