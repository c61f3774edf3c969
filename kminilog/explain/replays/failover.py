"""A broker dies and comes back: where the messages of each second go.

Four partitions on four brokers, one copy each; integer keys 0, 1, 2, 3 in turn, so that the 0.8
partitioner sends one message of each round to every partition. With `send.switch.broker.enable` the
messages for a partition without a leader go to one that has a leader, drawn at random for each
message. Without it they are tried 1 + 3 times and lost, or the sender stops. When the broker is
back, the messages go to their own partitions again. Another partitioner may be given.

With more replicas, a follower on another broker leads while the broker is down: nothing is lost.

The cluster's files are real, its time is simulated. Source: S4, both figures.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kminilog.clock import Chance, ManualClock
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.errors import KMiniLogError
from kminilog.producer.delivery import DeliveryReport
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord
from kminilog.storage.topics import Topic

PARTITIONS = 4
TOPIC = "orders"
SECOND_MS = 1_000
DEFAULT_PARTITIONER = "default-0.8"


class FailoverPlan(NamedTuple):
    """When broker 0 dies and returns, seconds in all, and rounds of 4 messages a second."""

    dies_at: int = 3
    returns_at: int = 6
    seconds: int = 9
    rounds: int = 2


DEFAULT_PLAN = FailoverPlan()


class FailoverSecond(NamedTuple):
    """What happened in one second: messages by partition, and the producer's counts.

    `error` is the error of the first lost message of the second. `leaders` has the broker that
    leads each partition, if one does, `replicas` all brokers that have a copy of it.
    """

    second: int
    event: str
    by_partition: dict[int, int]
    report: DeliveryReport
    error: str
    leaders: Mapping[int, int | None] = {}
    replicas: Mapping[int, tuple[int, ...]] = {}


def replay_failover(
    path: Path,
    *,
    is_switch_on: bool,
    is_stopping: bool,
    chance: Chance,
    plan: FailoverPlan = DEFAULT_PLAN,
    partitioner: str = DEFAULT_PARTITIONER,
    replicas: int = 1,
) -> Iterator[FailoverSecond]:
    """Yield each second in turn; the cluster's log dirs are made under `path`.

    With `is_stopping` the sender stops after the first second that lost a message, as S4 says of a
    caller who does not go on; else it goes on and the report counts the losses.
    """
    clock = ManualClock()
    config = {
        "partitioner.class": partitioner,
        "key.serializer": "integer",
        "value.serializer": "string",
        "send.switch.broker.enable": is_switch_on,
        "acks": 1 if replicas == 1 else -1,
    }
    with MiniCluster.open(path, brokers=PARTITIONS, clock=clock) as cluster:
        cluster.create_topic(Topic(TOPIC, PARTITIONS), replicas)
        with ManualProducer(
            cluster, config, clock=clock, chance=chance, alongside=cluster.replicate
        ) as producer:
            for second in range(plan.seconds):
                event = _event(cluster, second, plan)
                result = _one_second(producer, second, event, plan.rounds)
                infos = cluster.metadata().partitions_for_topic(TOPIC)
                result = result._replace(
                    leaders={one.partition: one.leader and one.leader.id for one in infos},
                    replicas={one.partition: tuple(n.id for n in one.replicas) for one in infos},
                )
                if is_stopping and result.report.lost:
                    yield result._replace(event=f"{event or 'a message is lost'}, the sender stops")
                    return
                yield result
                clock.sleep_ms((second + 1) * SECOND_MS - clock.now_ms())


def _event(cluster: MiniCluster, second: int, plan: FailoverPlan) -> str:
    if second == plan.dies_at:
        cluster.crash(0)
        return "broker 0 dies"
    if second == plan.returns_at:
        cluster.start(0)
        return "broker 0 returns"
    return ""


def _one_second(producer: ManualProducer, second: int, event: str, rounds: int) -> FailoverSecond:
    before = producer.report
    futures = [
        producer.send(ProducerRecord(TOPIC, key, f"second {second}, round {number}"))
        for number in range(rounds)
        for key in range(PARTITIONS)
    ]
    producer.flush()
    errors = [future.exception() for future in futures]
    kept = [
        future.result().partition
        for future, error in zip(futures, errors, strict=True)
        if error is None
    ]
    counted = Counter(kept)
    told = next((str(error) for error in errors if isinstance(error, KMiniLogError)), "")
    since = DeliveryReport(*(now - then for now, then in zip(producer.report, before, strict=True)))
    return FailoverSecond(second, event, {n: counted[n] for n in range(PARTITIONS)}, since, told)
