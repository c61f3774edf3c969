"""What the commands that take `--cluster DIR` share: the same questions to a cluster.

Nobody but `serve` keeps a cluster open between two commands, so its time stands still: followers
copy only while a command lets them.

    reads without a lock     `ls`, `find`, `topic list`, `topic describe`, `cluster describe`,
                             `group list`, `group describe`
    changes a group's file   `consume --group`, `group reset`, `group delete`
    reads, and lets copy     `consume`, whenever a leader has messages that are not committed yet
    has it open              `produce`; with acks = -1 it lets followers copy, and waits for them
                             `topic create`, `cluster crash`, `cluster start`, `cluster add-broker`
    keeps it open            `serve`: its followers copy all the time; it does what `cluster crash`
                             and `cluster start` ask

Source: ours.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kminilog.cli.shared.cluster_option import cluster_at, is_cluster
from kminilog.cli.shared.interrupts import check_interrupt
from kminilog.cli.shared.output import Broken, warn, warn_all
from kminilog.cli.shared.progress import working_if_long
from kminilog.cli.shared.recovery_reading import open_writer, recovery_reading
from kminilog.clock import Clock
from kminilog.cluster.asked import START, ask, take_back
from kminilog.cluster.requests import Cluster
from kminilog.cluster.standalone import StandaloneBroker
from kminilog.config import complete_config
from kminilog.errors import (
    KMiniLogError,
    LeaderNotAvailableError,
    LogDirLockedError,
    in_words,
    typed,
)
from kminilog.format.names import TopicPartition
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.storage.lock import LockWait, LogDirLock
from kminilog.storage.log_dir.log_dir import LogDir, holds_cluster
from kminilog.storage.partition.log_ends import OnLoss
from kminilog.storage.partition.notices import OnGap
from kminilog.storage.topics import TOPIC_SUFFIX, Topic
from kminilog.system import SystemClock

if TYPE_CHECKING:
    from kminilog.cluster.mini_cluster import MiniCluster
    from kminilog.consumer.interface import MessageSource

LOCK_TIMEOUT_MS = 5_000
BETWEEN_COPIES_MS = 100
LOOK_MS = 20


class LeaderSide(NamedTuple):
    """Who takes a producer's batches, and what goes on while the producer waits.

    `unheard` has an exit code above 0 if a batch with acks = 0 could not be written.
    """

    leaders: Cluster
    alongside: Callable[[], object]
    unheard: Broken


@contextmanager
def open_cluster(path: Path, *, timeout_ms: int | None = None) -> "Iterator[MiniCluster]":
    """Open a cluster as it was left; print warnings, and stop its brokers in order at the end.

    Waits for another process that has it open. Raises what MiniCluster.reopen raises.
    """
    from kminilog.cluster.mini_cluster import MiniCluster

    clock = SystemClock()
    wait = LockWait(LOCK_TIMEOUT_MS if timeout_ms is None else timeout_ms, clock, warn)
    with recovery_reading("Starting the brokers") as scanner:
        cluster = MiniCluster.reopen(
            path, clock=clock, scanner=scanner, lock_wait=wait, safe_point=check_interrupt
        )
    with cluster:
        try:
            warn_all(cluster.take_warnings())
            yield cluster
        finally:
            warn_all(cluster.take_warnings())


def make_cluster(directory: Path, brokers: int) -> None:
    """Make a cluster in a directory that is new or empty; all of its brokers are live."""
    from kminilog.cluster.mini_cluster import MiniCluster

    try:
        _refuse_used(directory)
        clock = SystemClock()
        MiniCluster.open(
            directory, brokers=brokers, clock=clock, safe_point=check_interrupt
        ).close()
    except OSError as error:
        error.add_note("name a new or empty directory where you can write")
        raise


def _refuse_used(directory: Path) -> None:
    """Raise ValueError if other files are in a directory than a `create` that was ended leaves."""
    if holds_cluster(directory):
        advice = f"{typed('cluster describe', directory)} shows it"
        raise ValueError(f"{directory}: there is a cluster already; {advice}")
    if directory.exists() and not directory.is_dir():
        raise ValueError(f"{directory}: it is a file; name a new or empty directory")
    found = directory.iterdir() if directory.exists() else ()
    for path in found:
        is_left_over = path.name in (".lock", ".reserve") or path.name.startswith("broker-")
        if not is_left_over or any(path.glob(f"*{TOPIC_SUFFIX}")):
            raise ValueError(f"{directory}: {path.name} is in it; name a new or empty directory")


def is_done_by_holder(directory: Path, broker: int, what: str) -> bool:
    """Let the process that has the cluster open crash or start a broker; False if none has.

    Raises LogDirLockedError if that process does not do it: then it is not `serve`.
    """
    clock, files = SystemClock(), cluster_at(directory)
    end_ms = clock.now_ms() + LOCK_TIMEOUT_MS
    is_asked = False
    try:
        while True:
            try:
                LogDirLock(directory).release()
                return False
            except LogDirLockedError as error:
                if clock.now_ms() > end_ms:
                    error.add_note(
                        f"it was asked for the {what} of broker {broker}; see its output"
                    )
                    raise
            if not is_asked:
                ask(directory, broker, what)
                is_asked = True
            clock.sleep_ms(LOOK_MS)
            check_interrupt()
            if files.state().brokers[broker] == (what == START):
                return True
    finally:
        take_back(directory, broker)


def let_followers_copy(cluster: "MiniCluster") -> int:
    """Replicate until all live followers have everything, and all know it; return the messages."""
    copied = 0
    while more := cluster.replicate():
        check_interrupt()
        copied += more
    # The leaders learn of it from the next requests, the followers from the answers after that.
    cluster.replicate()
    cluster.replicate()
    return copied


def _nothing() -> bool:
    return False


@contextmanager
def leader_side(
    path: Path, clock: Clock, settings: Mapping[str, Any], *, has_thread: bool
) -> Iterator[LeaderSide]:
    """Open a log dir, or the cluster, for a producer with these settings.

    Only acks = -1 waits for followers, so only then they copy; in a thread, if it has one.
    """
    unheard = Broken()

    def on_unheard(error: KMiniLogError) -> None:
        reason = error.__cause__ if isinstance(error.__cause__, KMiniLogError) else error
        unheard(KMiniLogError(f"acks = 0: at least one batch was not written: {in_words(reason)}"))

    if is_cluster():
        is_waiting = complete_config(settings, PRODUCER_SETTINGS)["acks"] == -1
        with open_cluster(path) as cluster, ExitStack() as threads:
            cluster.on_unheard = on_unheard
            if is_waiting and has_thread:
                from kminilog.producer.sender import replicating

                threads.enter_context(replicating(cluster.replicate))
            yield LeaderSide(cluster, cluster.replicate if is_waiting else _nothing, unheard)
        return
    with open_writer(path) as writer:
        try:
            broker = StandaloneBroker(writer, clock, on_unheard=on_unheard)
            yield LeaderSide(broker, _nothing, unheard)
        finally:
            warn_all(writer.warnings)  # of partitions that were recovered when they were opened


def source_of(log_dir: LogDir, *, on_gap: OnGap | None, on_loss: OnLoss) -> "MessageSource":
    """Return what a consumer reads: a log dir, or a cluster up to its high watermarks."""
    from kminilog.consumer.readers import ClusterFilesSource, LogDirSource

    if not is_cluster():
        return LogDirSource(log_dir, on_gap=on_gap, on_loss=on_loss)
    clock, done_ms = SystemClock(), [0]

    def let_copy() -> None:
        if clock.now_ms() - done_ms[0] >= BETWEEN_COPIES_MS:
            try:
                with open_cluster(log_dir.path, timeout_ms=0) as cluster:
                    let_followers_copy(cluster)
            except LogDirLockedError:
                pass  # whoever has it open lets them copy, or will soon have finished
            done_ms[0] = clock.now_ms()

    files = cluster_at(log_dir.path)
    return ClusterFilesSource(files, let_copy=let_copy, on_gap=on_gap, on_loss=on_loss)


def with_leader(log_dir: LogDir, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions that can be read: all of a log dir, those with a leader of a cluster.

    Writes a line for each of the others. Raises LeaderNotAvailableError if none has a leader.
    """
    if not is_cluster():
        return partitions
    cluster = cluster_at(log_dir.path)
    led = {partition: cluster.leadership(partition) for partition in partitions}
    missing = [partition for partition in partitions if led[partition].leader is None]
    if missing and missing == partitions:
        number = missing[0].partition if len(missing) == 1 else None
        topics = sorted({partition.topic for partition in missing})
        raise LeaderNotAvailableError(", ".join(topics), partition=number)
    for partition in missing:
        brokers = " or ".join(map(str, led[partition].in_sync))
        warn(f"{partition} has no leader, so it is left out: first start broker {brokers}")
    return [partition for partition in partitions if partition not in missing]


def create_in_cluster(path: Path, topic: Topic, replicas: int) -> Topic:
    """Create a topic in a cluster, and return it; raises what MiniCluster.create_topic raises."""
    with open_cluster(path) as cluster, working_if_long(f"Creating {topic.name}") as at:
        return cluster.create_topic(topic, replicas, at)
