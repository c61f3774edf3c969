"""`step rebalance`: members of a group come, go and hang; one step for each second that changes.

    partition  reader  read to  committed  uncommitted
    orders-0   A            20         16            4     would be read again if A were gone

The seconds are those of `course.replays.rebalance`, which runs the real group on a simulated clock.
What a step says follows from the plan's events and from what differs between two seconds. `group
demo` prints the same document. Source: S1 4; Kafka: at-least-once delivery.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kminilog.consumer.group import PREPARING
from kminilog.course.replays.rebalance import (
    HANGS,
    JOINS,
    LEAVES,
    SECOND_MS,
    TOPIC,
    WAKES,
    Event,
    Plan,
    Second,
)
from kminilog.course.steps.consumer.rebalance_questions import (
    how_many_again,
    what_is_answered,
    what_is_given_up,
    when_removed,
)
from kminilog.course.steps.document import Ask, Document, Table, Value
from kminilog.course.steps.recording import Recording
from kminilog.text import count

NOBODY = "-"
MOST_STEPS = 40
_RECENT_ROWS = 4
_MOST_COLUMNS = 5  # of partitions side by side; more share one column, with a letter for each


class Change(NamedTuple):
    """A second, the one before it, its events, and who hangs or has just gone by then."""

    before: Second
    now: Second
    events: tuple[Event, ...]
    hanging: frozenset[str]

    @property
    def removed(self) -> list[str]:
        """Members that the group has removed because nothing was heard of them."""
        left = {event.member for event in self.events if event.what == LEAVES}
        return [m for m in self.before.members if m not in {*self.now.members, *left}]

    @property
    def taken_over(self) -> dict[str, list[int]]:
        """Reader -> partitions that it has begun to read."""
        return _by_reader(self.now, self.before)

    @property
    def given_up(self) -> dict[str, list[int]]:
        """Reader -> partitions that it has stopped to read, though it neither left nor hangs."""
        left = {event.member for event in self.events if event.what == LEAVES}
        gone = left | self.hanging
        lost = _by_reader(self.before, self.now)
        return {name: numbers for name, numbers in lost.items() if name not in gone}

    @property
    def is_news(self) -> bool:
        """Whether anything is different that a reader of the step-through should know."""
        return bool(self.events or self.now.read_again) or _kept(self.before) != _kept(self.now)


def document(seconds: Sequence[Second], *, strategy: str, plan: Plan) -> Document:
    """Return the step-through of a replay of at least one second, with this strategy and plan.

    The last state is that of the last second. Of more than MOST_STEPS steps, those before the last
    one are left out.
    """
    title = f"A rebalance, second by second: {count(plan.partitions, 'partition')} of {TOPIC}"
    recording = Recording("rebalance", f"{title}, shared out by {strategy}")
    news = [change for change in _changes(seconds, plan) if change.is_news]
    questions = _Questions(strategy, plan)
    shown = news[: MOST_STEPS - 1]
    for number, change in enumerate(shown, start=1):
        recent = [one.now for one in shown[max(0, number - _RECENT_ROWS) : number]]
        recording.step(
            " ".join(_sentences(change, plan)),
            ask=questions.of(change),
            values=_values(change.now),
            tables=[_partitions(change.before, change.now), _timeline(recent)],
        )
    last, again = seconds[-1], sum(second.read_again for second in seconds)
    said = f"In all, {count(again, 'message')} {'was' if again == 1 else 'were'} read twice. "
    said += "That is at-least-once delivery: what was read but not committed is read again."
    if len(news) > len(shown):
        said += f" ({count(len(news) - len(shown), 'change')} before this step are left out.)"
    recording.step(
        said,
        values={**_values(last), "read twice in all": again},
        tables=[_partitions(last, last), _timeline([change.now for change in news], is_last=False)],
    )
    return recording.document()


def _changes(seconds: Sequence[Second], plan: Plan) -> Iterator[Change]:
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


def _kept(second: Second) -> tuple[object, ...]:
    """Return what stays the same in a second that is no news."""
    readers = tuple(second.reader_by_partition.values())
    return second.state, second.generation, readers, second.idle, sorted(second.members)


def _by_reader(of: Second, other: Second) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for number, reader in of.reader_by_partition.items():
        if reader is not None and other.reader_by_partition[number] != reader:
            found.setdefault(reader, []).append(number)
    return found


# ---- what is said


def _sentences(change: Change, plan: Plan) -> Iterator[str]:
    before, now = change.before, change.now
    for event in change.events:
        yield _event_sentence(event, now)
    silent_for = f"{plan.session_timeout_ms / SECOND_MS:g} seconds"
    for name in change.removed:
        yield f"Nothing was heard of {name} for {silent_for}, so the group removes it."
    for name, numbers in change.given_up.items():
        yield f"{name} gives up {_partition_list(numbers)}."
    if now.state == PREPARING != before.state:
        if change.events or change.removed:
            yield "A rebalance begins. Each member hears of it at its next heartbeat."
        else:
            yield "A second round begins, to hand over what was given up."
    if now.generation > before.generation and now.members:
        begun = ", then ".join(map(str, range(before.generation + 1, now.generation + 1)))
        yield f"All have joined: generation {begun} begins."
    for name, numbers in change.taken_over.items():
        yield f"{name} takes over {_partition_list(numbers)}."
    if now.idle != before.idle and now.idle:
        yield f"There are not enough partitions for {' and '.join(now.idle)}."
    if now.read_again:
        yield (
            f"{count(now.read_again, 'message')} are read a second time: they were read, but not "
            "committed."
        )


def _event_sentence(event: Event, now: Second) -> str:
    answer = "The group accepts it."
    if now.error:
        answer = f"The group answers: {now.error}. So it joins as a new member."
    return {
        JOINS: f"{event.member} joins.",
        LEAVES: f"{event.member} leaves: it commits what it has read, and says goodbye.",
        HANGS: f"{event.member} hangs: it reads nothing and sends no heartbeat. The group does "
        "not know that.",
        WAKES: f"{event.member} wakes up, believes that nothing has happened, and commits what it "
        f"had read. {answer}",
    }[event.what]


def _partition_list(numbers: Sequence[int]) -> str:
    noun = "partition" if len(numbers) == 1 else "partitions"
    return f"{noun} {', '.join(map(str, numbers))}"


# ---- what is asked


class _Questions:
    """Asks each question once, where its answer shows for the first time."""

    def __init__(self, strategy: str, plan: Plan) -> None:
        self._strategy = strategy
        self._plan = plan
        self._asked: set[Callable[..., Ask | None]] = set()

    def of(self, change: Change) -> Ask | None:
        """Return the question in front of a second, if there is one."""
        woken = [event.member for event in change.events if event.what == WAKES]
        if change.now.read_again:
            return self._once(how_many_again, change.before, change.now)
        if change.removed:
            return self._once(when_removed, change.removed[0], change.now.second, self._plan)
        if woken:
            return self._once(what_is_answered, woken[0], change.now.error)
        if change.given_up:
            return self._once(what_is_given_up, next(iter(change.given_up)), self._strategy)
        return None

    def _once(self, question: Callable[..., Ask | None], *facts: object) -> Ask | None:
        if question in self._asked:
            return None
        self._asked.add(question)
        return question(*facts)


# ---- the state


def _values(second: Second) -> dict[str, Value]:
    return {
        "second": second.second,
        "state": second.state,
        "generation": second.generation,
        "members": ", ".join(sorted(second.members)) or None,
        "idle": ", ".join(second.idle) or None,
    }


def _partitions(before: Second, now: Second) -> Table:
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
    return Table("partitions at the end of this second", columns, tuple(rows), tuple(marked))


def _readers(second: Second) -> list[str]:
    return [reader or NOBODY for reader in second.reader_by_partition.values()]


def _timeline(seconds: Sequence[Second], *, is_last: bool = True) -> Table:
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
    title = f"who reads which partition ({NOBODY}: nobody), in the seconds that change something"
    marked = (len(rows) - 1,) if is_last else ()
    return Table(title, (*columns, "idle", "again"), rows, marked)
