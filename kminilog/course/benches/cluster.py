"""The bench of a cluster: brokers crash and start, messages are sent with acks 0, 1 and -1.

    send 1     the next message, m0, m1 ...: the leader has it, and the producer is told so
    copy       the followers copy what they lack
    crash 0    broker 0 dies; an in-sync broker leads now
    start 0    it comes back as a follower: it will cut what its leader does not have

Followers copy only when they are told to, or when a producer with acks -1 waits for them. So one
sees what is acknowledged before it is copied, and what is lost. A real cluster in a temporary
directory does all acts anew. Source: S1 3; ours.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from kminilog.cluster.metadata import PartitionInfo
from kminilog.course.benches.bench import Bench, BenchAct, BenchField, act_words, whole_number
from kminilog.course.steps.temporary_partition import PARTITION
from kminilog.course.steps.watched_cluster import WatchedCluster
from kminilog.errors import KMiniLogError
from kminilog.explain.document import Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.script import Script
from kminilog.settings import TopicSettings

STEPS = ("A new cluster", "send", "copy", "crash", "start")
ACKS = ("0", "1", "-1")
_LEAST_OFFSETS, _SHOWN_OFFSETS = 6, 16
_SHOWN_ROWS = 10


class _Played(WatchedCluster):
    """A cluster after some acts."""

    def __init__(self, path: Path, opened: ExitStack, brokers: int) -> None:
        super().__init__(
            path, opened, brokers=brokers, acks=[*map(int, ACKS)], settings=TopicSettings()
        )
        self.brokers = range(brokers)
        self.down: set[int] = set()

    def act(self, name: str, *words: str) -> None:
        """Do one act. Raises ValueError for one that is not possible now."""
        if name == "send":
            if words[0] not in ACKS:
                raise ValueError(f"send: acks is {', '.join(ACKS)}, not {words[0]!r}")
            acks = int(words[0])
            self.send(f"m{len(self.answers)}", acks)
            self.producers[acks].flush()
        elif name == "copy":
            self.copy_all()
        else:
            node = whole_number(words[0], f"{name}, broker", 0, self.brokers[-1])
            if name == "crash":
                self.cluster.crash(node)
                self.down.add(node)
            else:
                self.cluster.start(node)
                self.down.remove(node)

    @property
    def partition(self) -> PartitionInfo:
        """Who leads, and who is in sync, as the cluster says."""
        (info,) = self.cluster.metadata().partitions_for_topic(PARTITION.topic)
        return info

    @property
    def leader(self) -> int | None:
        """The broker that leads; None if nobody does."""
        leader = self.partition.leader
        return leader.id if leader else None

    def high_watermark(self) -> int | None:
        """The offset below which all is committed, as the leader knows it; None without one."""
        return None if self.leader is None else self.cluster.high_watermark(PARTITION)

    def fates(self, copies: Mapping[int, Sequence[str]]) -> dict[str, str]:
        """Return for each message what has become of it, by the copy of the leader."""
        leader, high_watermark = self.leader, self.high_watermark()
        if leader is None or high_watermark is None:
            return dict.fromkeys(self.answers, "no leader")
        kept = copies[leader]
        fates = dict.fromkeys(self.answers, "lost")
        fates |= dict.fromkeys(kept, "not committed")
        return fates | dict.fromkeys(kept[:high_watermark], "committed")


def document(given: Mapping[str, str], acts: Sequence[str]) -> Document:
    """Return what the last of some acts has led to; ValueError for one that is not possible."""
    with ExitStack() as opened:
        path = Path(opened.enter_context(TemporaryDirectory()))
        played = _Played(path, opened, int(given["brokers"]))
        words, before = ["A new cluster", ""], None
        for number, act in enumerate(acts, start=1):
            if number == len(acts):
                before = played.leader
            words = [*act_words(act), ""]
            try:
                played.act(*words[:-1])
            except KMiniLogError as error:
                raise ValueError(f"{act}: {error}".replace(f"{path}/", "")) from error
        return _told(played, words[0], words[1], before)


def _told(played: _Played, step: str, word: str, leader_before: int | None) -> Document:
    told = Script(__file__, "cluster", STEPS)
    copies = {node: played.copy(node) for node in played.brokers}
    fates = played.fates(copies)
    answers = {name: played.told(name) for name in played.answers}
    lost = [name for name, fate in fates.items() if fate == "lost"]
    broken = [name for name in lost if answers[name].startswith("stored")]
    name = next(reversed(answers), "")
    told.tell(
        step,
        values={
            "leader": played.leader,
            "in sync": ", ".join(map(str, _in_sync(played))),
            "high watermark": played.high_watermark(),
            "lost": len(lost),
            "lost, told that it is stored": len(broken),
        },
        tables=[_table(played, answers, fates)] if answers else [],
        picture=_picture(played, copies),
        word=word,
        name=name,
        answer=answers.get(name),
        fate=fates.get(name),
        leader=played.leader,
        leader_before=leader_before,
        broken=broken,
    )
    return told.document()


def _in_sync(played: _Played) -> list[int]:
    return [node.id for node in played.partition.in_sync_replicas]


def _table(played: _Played, answers: Mapping[str, str], fates: Mapping[str, str]) -> Table:
    """Return for each of the last messages what its producer was told, and what became of it."""
    rows: list[tuple[Value, ...]] = [
        (name, played.acks_of[name], answer, fates[name]) for name, answer in answers.items()
    ]
    shown = rows[-_SHOWN_ROWS:]
    title = "Messages" if shown == rows else f"Messages, {len(shown)} of {len(rows)}"
    marked = tuple(n for n, row in enumerate(shown) if row[-1] == "lost")
    return Table(title, ("message", "acks", "the producer is told", "now"), tuple(shown), marked)


def _picture(played: _Played, copies: Mapping[int, Sequence[str]]) -> Picture:
    """Return a lane for each broker: the messages in its file, by offset."""
    longest = max(map(len, copies.values()))
    start = max(0, longest - _SHOWN_OFFSETS)
    end = max(start + _LEAST_OFFSETS, longest)
    in_sync, high_watermark = _in_sync(played), played.high_watermark() or 0
    led = copies[played.leader] if played.leader is not None else None
    lanes = []
    for node, names in copies.items():
        bars = []
        for offset, name in list(enumerate(names))[start:]:
            style = "value" if offset < high_watermark else ""
            if led is not None and [name] != led[offset : offset + 1]:
                style = "free"
            if node in played.down:
                style = "lost"
            bars.append(Bar(offset, offset + 1, name, style, f"{node} {name}"))
        role = "leads" if node == played.leader else "in sync" if node in in_sync else "not in sync"
        state = "down" if node in played.down else role
        lanes.append(PictureLane(f"broker {node}, {state}", start, end, tuple(bars)))
    title = (
        "Messages in the files of the brokers; red: the broker is down; dashed: not its leader's"
    )
    return Picture(title, tuple(lanes))


_BROKER = (BenchField("broker", "Broker", "0"),)
BENCH = Bench(
    "cluster",
    "A cluster",
    (BenchField("brokers", "Brokers", "3", ("1", "2", "3", "4", "5")),),
    (
        BenchAct("send", "Send", (BenchField("acks", "acks", "1", ACKS),)),
        BenchAct("copy", "Let followers copy"),
        BenchAct("crash", "Crash", _BROKER),
        BenchAct("start", "Start", _BROKER),
    ),
    document,
)
