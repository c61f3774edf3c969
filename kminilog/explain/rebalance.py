"""`step rebalance`: members of a group come, go and hang; one step for each second that changes.

    partition  reader  read to  committed  uncommitted
    orders-0   A            20         16            4     would be read again if A were gone

`explain.replays.rebalance` runs the real group on a simulated clock, and yields the seconds.
What a step says follows from the plan's events and from what differs between two seconds. The
answers are computed from what the replay has shown, so they fit any plan. `group demo` prints the
same document. Source: S1 4; Kafka: rebalance protocols, at-least-once delivery; the misconceptions
are ours.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kminilog.consumer.assignor_registry import make_assignor
from kminilog.consumer.group import PREPARING
from kminilog.explain.document import Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.replays.rebalance import (
    GROUP,
    HANGS,
    LEAVES,
    OTHER_GROUP,
    SECOND_MS,
    TOPIC,
    WAKES,
    Event,
    OtherGroup,
    RebalancePlan,
    RebalanceSecond,
)
from kminilog.explain.script import Script
from kminilog.text import count

STEPS = ("A second with a change", "Another group", "The last second")
NOBODY = "-"
MOST_STEPS = 40
_RECENT_ROWS = 4
_MOST_COLUMNS = 5  # of partitions side by side; more share one column, with a letter for each


class Change(NamedTuple):
    """A second, the one before it, its events, and who hangs or has just gone by then."""

    before: RebalanceSecond
    now: RebalanceSecond
    events: tuple[Event, ...]
    hanging: frozenset[str]

    @property
    def left(self) -> list[str]:
        """Members that have just left."""
        return [event.member for event in self.events if event.what == LEAVES]

    @property
    def removed(self) -> list[str]:
        """Members that the group has removed because nothing was heard of them."""
        return [m for m in self.before.members if m not in {*self.now.members, *self.left}]

    @property
    def taken_over(self) -> dict[str, list[int]]:
        """Reader -> partitions that it has begun to read."""
        return _by_reader(self.now, self.before)

    @property
    def given_up(self) -> dict[str, list[int]]:
        """Reader -> partitions that it has stopped to read, though it neither left nor hangs."""
        gone = {*self.left, *self.hanging}
        lost = _by_reader(self.before, self.now)
        return {name: numbers for name, numbers in lost.items() if name not in gone}

    @property
    def is_rebalance_new(self) -> bool:
        """Whether a rebalance begins, or its second round."""
        return self.now.state == PREPARING != self.before.state

    @property
    def woken(self) -> list[str]:
        """Members that have just woken up."""
        return [event.member for event in self.events if event.what == WAKES]

    @property
    def question(self) -> str:
        """What is asked in front of this second, if it was not asked before; empty: nothing."""
        if self.now.read_again:
            return "how many again"
        if self.removed:
            return "when removed"
        if self.woken:
            return "what is answered"
        if self.is_rebalance_new and {*self.left[:1]} & {*self.before.members}:
            return "when it begins"
        return "what is given up" if self.given_up else ""

    @property
    def is_news(self) -> bool:
        """Whether anything is different that a reader of the step-through should know."""
        return bool(self.events or self.now.read_again) or _kept(self.before) != _kept(self.now)


def document(
    seconds: Sequence[RebalanceSecond],
    *,
    strategy: str,
    plan: RebalancePlan,
    other: OtherGroup | None = None,
) -> Document:
    """Return the step-through of a replay of at least one second, with this strategy and plan.

    The last state is that of the last second. Before it comes what an `other` group reads, if one
    did. Of more than MOST_STEPS steps, those before these are left out.
    """
    told = Script(
        __file__,
        "rebalance",
        STEPS,
        strategy=strategy,
        is_cooperative=make_assignor(strategy).is_cooperative,
        topic=TOPIC,
        partitions=plan.partitions,
        session=plan.session_timeout_ms // SECOND_MS,
        interval=plan.heartbeat_interval_ms // SECOND_MS,
        silent_for=f"{plan.session_timeout_ms / SECOND_MS:g}",
    )
    news = [change for change in _changes(seconds, plan) if change.is_news]
    shown = news[: MOST_STEPS - (2 if other else 1)]
    asked: set[str] = set()
    for number, change in enumerate(shown, start=1):
        before, now = change.before, change.now
        recent = [one.now for one in shown[max(0, number - _RECENT_ROWS) : number]]
        begun = sorted(n for numbers in change.taken_over.values() for n in numbers)
        told.tell(
            "A second with a change",
            asks=change.question not in asked,
            values=_values(now),
            tables=[_partitions(before, now), _timeline(recent)],
            picture=_readers_picture(seconds[: now.second - seconds[0].second + 1], plan),
            before=before,
            now=now,
            change=change,
            begun=begun,
            first_read=sum(
                now.read_to_by_partition[n] - before.read_to_by_partition[n] for n in begun
            ),
            hung=[
                event.second
                for event in plan.events
                if event.what == HANGS
                and event.second <= now.second
                and event.member in change.removed[:1]
            ],
        )
        asked.add(change.question)
    if other:
        told.tell(
            "Another group",
            values=_values(seconds[-1]),
            tables=[_groups(seconds[-1], other)],
            picture=_readers_picture(seconds, plan),
            group=GROUP,
            other_group=OTHER_GROUP,
            other=other,
            seconds=plan.seconds,
        )
    last, again = seconds[-1], sum(second.read_again for second in seconds)
    told.tell(
        "The last second",
        values={**_values(last), "read twice in all": again},
        tables=[_partitions(last, last), _timeline([change.now for change in news], is_last=False)],
        picture=_readers_picture(seconds, plan),
        again=again,
        left_out=len(news) - len(shown),
    )
    return told.document()


def _changes(seconds: Sequence[RebalanceSecond], plan: RebalancePlan) -> Iterator[Change]:
    """Yield each second with the one before it; before the first one there is nothing."""
    before = seconds[0]._replace(
        state="",
        generation=0,
        reader_by_partition=dict.fromkeys(seconds[0].reader_by_partition),
        idle=(),
        members=(),
    )
    hanging: set[str] = set()
    for now in seconds:
        events = tuple(event for event in plan.events if event.second == now.second)
        hanging |= {event.member for event in events if event.what == HANGS}
        was_hanging = frozenset(hanging)
        hanging -= {event.member for event in events if event.what in (WAKES, LEAVES)}
        yield Change(before, now, events, was_hanging)
        before = now


def _kept(second: RebalanceSecond) -> tuple[object, ...]:
    """Return what stays the same in a second that is no news."""
    readers = tuple(second.reader_by_partition.values())
    return second.state, second.generation, readers, second.idle, sorted(second.members)


def _by_reader(of: RebalanceSecond, other: RebalanceSecond) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, reader in of.reader_by_partition.items():
        if reader is not None and other.reader_by_partition[number] != reader:
            found.setdefault(reader, []).append(number)
    return found


# ---- the state


def _values(second: RebalanceSecond) -> dict[str, Value]:
    return {
        "second": second.second,
        "state": second.state,
        "generation": second.generation,
        "members": ", ".join(sorted(second.members)) or None,
        "idle": ", ".join(second.idle) or None,
    }


def _partitions(before: RebalanceSecond, now: RebalanceSecond) -> Table:
    rows: list[tuple[Value, ...]] = []
    for number, reader in now.reader_by_partition.items():
        read_to = now.read_to_by_partition[number]
        committed = now.committed_by_partition[number]
        place = f"{TOPIC}-{number}"
        rows.append((place, reader or NOBODY, read_to, committed, max(0, read_to - committed)))
    marked = [
        slot
        for slot, number in enumerate(now.reader_by_partition)
        if before.reader_by_partition[number] != now.reader_by_partition[number]
    ]
    columns = ("partition", "reader", "read to", "committed", "uncommitted")
    return Table("Partitions at the end of this second", columns, tuple(rows), tuple(marked))


def _groups(last: RebalanceSecond, other: OtherGroup) -> Table:
    """Return what each group has read of each partition."""
    rows = tuple(
        (f"{TOPIC}-{number}", read_to, other.read_by_partition[number])
        for number, read_to in last.read_to_by_partition.items()
    )
    return Table("Messages that each group has read", ("partition", GROUP, OTHER_GROUP), rows)


def _readers_picture(seconds: Sequence[RebalanceSecond], plan: RebalancePlan) -> Picture:
    """Return a lane for each partition: who read it, second by second."""
    end = max(plan.seconds, len(seconds))
    names = sorted({name for each in seconds for name in each.reader_by_partition.values() if name})
    styles = {name: ("value", "size", "key", "crc")[place % 4] for place, name in enumerate(names)}
    lanes = []
    for number in seconds[0].reader_by_partition:
        readers = [second.reader_by_partition[number] or "" for second in seconds]
        bars = _runs([(reader, styles.get(reader, "free")) for reader in readers])
        lanes.append(PictureLane(f"{TOPIC}-{number}", 0, end, bars))
    cells = [(str(s.generation), "") if s.state == "Stable" else ("", "free") for s in seconds]
    lanes.append(PictureLane("generation", 0, end, _runs(cells)))
    events = []
    for place, second in enumerate(seconds):
        again = f"{second.read_again} read again" if second.read_again else ""
        said = ", ".join(filter(None, (second.event, again)))
        if said:
            events.append(Bar(place, place, said, key=f"second {place}"))
    lanes.append(PictureLane("events", 0, end, tuple(events), count(end, "second")))
    title = "Who reads which partition; dashed: nobody, or a rebalance"
    return Picture(title, tuple(lanes))


def _runs(cells: Sequence[tuple[str, str]]) -> tuple[Bar, ...]:
    """Return a bar for each run of equal cells: a label and a style."""
    bars: list[Bar] = []
    for place, (label, style) in enumerate(cells):
        if bars and (bars[-1].label, bars[-1].style) == (label, style):
            bars[-1] = bars[-1]._replace(end=place + 1)
        else:
            bars.append(Bar(place, place + 1, label, style))
    return tuple(bars)


def _readers(second: RebalanceSecond) -> list[str]:
    return [reader or NOBODY for reader in second.reader_by_partition.values()]


def _timeline(seconds: Sequence[RebalanceSecond], *, is_last: bool = True) -> Table:
    """Return seconds as rows, with who reads each partition; the last one is marked."""
    columns = ["second", "what happens", "state", "gen"]
    numbers = list(seconds[0].reader_by_partition)
    is_narrow = len(numbers) <= _MOST_COLUMNS
    columns += [f"p{n}" for n in numbers] if is_narrow else [f"p0 to p{numbers[-1]}"]
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (
            second.second,
            second.event,
            second.state,
            second.generation,
            *(_readers(second) if is_narrow else ["".join(_readers(second))]),
            ", ".join(second.idle),
            second.read_again,
        )
        for second in seconds
    )
    title = f"Who reads which partition ({NOBODY}: nobody), in each second with a change"
    marked = (len(rows) - 1,) if is_last else ()
    return Table(title, (*columns, "idle", "again"), rows, marked)
