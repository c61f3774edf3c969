"""`step rebalance`: members of a group come, go and hang; one step for each second that changes.

    partition  reader  read to  committed  uncommitted
    orders-0   A            20         16            4     would be read again if A were gone

`explain.replays.rebalance` runs the real group on a simulated clock, and yields the seconds.
What a step says follows from the plan's events and from what differs between two seconds. The
questions are computed from what the replay has shown, so they fit any plan. `group demo` prints the
same document. Source: S1 4; Kafka: rebalance protocols, at-least-once delivery; the misconceptions
are ours.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kminilog.consumer.assignor_registry import make_assignor
from kminilog.consumer.group import PREPARING
from kminilog.explain.document import Ask, Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.explain.replays.rebalance import (
    HANGS,
    JOINS,
    LEAVES,
    SECOND_MS,
    TOPIC,
    WAKES,
    Event,
    RebalancePlan,
    RebalanceSecond,
)
from kminilog.text import agreeing, count

# ---- the questions


def what_is_given_up(member: str, strategy: str) -> Ask:
    """Ask what a member gives up when it hears of a rebalance."""
    everything = "all of its partitions"
    moving = "only the partitions that another member gets"
    nothing = "none: it goes on reading until the new generation has begun"
    is_cooperative = make_assignor(strategy).is_cooperative
    wrong = {
        everything: "That is an eager rebalance, in which all members stop for a moment. But this "
        "strategy is cooperative.",
        moving: "That is a cooperative rebalance. But this strategy is eager. Nobody knows yet "
        "which partitions will move.",
        nothing: "Then two members could read one partition at the same time.",
    }
    why = {
        everything: "This strategy is eager. A member commits, gives up all of its partitions, "
        "and then joins again. It may get the same partitions back.",
        moving: "This strategy is cooperative. A member joins again and keeps its partitions. "
        "Then it gives up those that another member will get. A second round hands them over.",
    }
    right = moving if is_cooperative else everything
    question = f"{member} hears of the rebalance. What does it give up, by {strategy}?"
    return ask(question, right, why[right], wrong)


def when_removed(member: str, second: int, plan: RebalancePlan) -> Ask | None:
    """Ask in which second a member that hangs is removed."""
    hangs = [
        event.second
        for event in plan.events
        if (event.member, event.what) == (member, HANGS) and event.second <= second
    ]
    if not hangs:  # it only was too slow for its time-out
        return None
    hung = hangs[-1]
    session, interval = (
        ms // SECOND_MS for ms in (plan.session_timeout_ms, plan.heartbeat_interval_ms)
    )
    return question_with_enough_choices(
        ask(
            f"{member} hangs from second {hung} on. The session time-out is {session} s, the "
            f"heartbeat interval {interval} s. In which second does the group remove {member}?",
            str(second),
            f"The session ends {session} s after the last heartbeat that arrived, which was before "
            f"second {hung}.",
            {
                str(hung): "A group does not see processes. It sees only requests. A member that "
                "sends none may just be slow.",
                str(hung + interval): "One missing heartbeat is not enough. The session time-out "
                "counts.",
                str(hung + session): "The time counts from the last heartbeat, not from the "
                "second in which the member hangs. Nobody sees that second.",
            },
        )
    )


def how_many_again(before: RebalanceSecond, now: RebalanceSecond) -> Ask | None:
    """Ask how many messages are read a second time when partitions are taken over."""
    begun = [
        number
        for number, reader in now.reader_by_partition.items()
        if reader is not None and before.reader_by_partition[number] != reader
    ]
    new = sum(now.read_to_by_partition[n] - before.read_to_by_partition[n] for n in begun)
    return question_with_enough_choices(
        ask(
            f"{_partition_list(begun).capitalize()} {agreeing('get', len(begun))} a new "
            "reader, which begins at the committed offset. How many messages are read a second "
            "time?",
            str(now.read_again),
            "Reading goes on at the committed offset. So the messages that were read after that "
            "offset are read again.",
            {
                "0": "That would be exactly-once delivery. But a group knows only committed "
                "offsets, not what was read after them.",
                str(new): "These messages are read for the first time.",
                str(new + now.read_again): "That counts those, too, that are read for the first "
                "time.",
            },
        )
    )


def what_is_answered(member: str, error: str) -> Ask:
    """Ask what a group answers to a commit of a member that was away."""
    accepted = "it accepts the commit"
    refused = "it refuses the commit"
    greater = "for each partition it keeps the greater offset"
    wrong = {
        accepted: "Another member reads these partitions now. The commit would undo its progress.",
        refused: "Its session is not over. It is still a member, and no other member has its "
        "partitions.",
        greater: "A group does not compare offsets, because a member may also go back. It checks "
        "who commits.",
    }
    right = refused if error else accepted
    why = "The group has removed it, so it is no member any more. It must not undo the progress of "
    why += "others. This is called fencing."
    if not error:
        why = "Its session is not over, so it is a member of the current generation."
    return ask(f"{member} wakes up and commits. What does the group do?", right, why, wrong)


# ---- the steps


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


def document(seconds: Sequence[RebalanceSecond], *, strategy: str, plan: RebalancePlan) -> Document:
    """Return the step-through of a replay of at least one second, with this strategy and plan.

    The last state is that of the last second. Of more than MOST_STEPS steps, those before the last
    one are left out.
    """
    title = (
        f"How a group shares out {count(plan.partitions, 'partition')} of {TOPIC}, second by second"
    )
    recording = Recording("rebalance", f"{title} ({strategy})")
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
            picture=_readers_picture(seconds[: change.now.second - seconds[0].second + 1], plan),
        )
    last, again = seconds[-1], sum(second.read_again for second in seconds)
    said = f"In all, {count(again, 'message', 'were')} read twice. "
    said += (
        "That is at-least-once delivery: messages that were read but not committed are read again."
    )
    if len(news) > len(shown):
        said += f" ({count(len(news) - len(shown), 'change', 'before this step are')} left out.)"
    recording.step(
        said,
        values={**_values(last), "read twice in all": again},
        tables=[_partitions(last, last), _timeline([change.now for change in news], is_last=False)],
        picture=_readers_picture(seconds, plan),
    )
    return recording.document()


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


# ---- what is said


def _sentences(change: Change, plan: RebalancePlan) -> Iterator[str]:
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
            f"{count(now.read_again, 'message', 'are')} read a second time: read before, but not "
            "committed."
        )


def _event_sentence(event: Event, now: RebalanceSecond) -> str:
    answer = "The group accepts it."
    if now.error:
        answer = f"The group answers: {now.error}. So it joins as a new member."
    return {
        JOINS: f"{event.member} joins.",
        LEAVES: f"{event.member} leaves the group. Before that, it commits what it has read.",
        HANGS: f"{event.member} hangs. It reads nothing and sends no heartbeat. The group does not "
        "know that.",
        WAKES: f"{event.member} wakes up. It does not know what has happened, and commits what it "
        f"had read. {answer}",
    }[event.what]


def _partition_list(numbers: Sequence[int]) -> str:
    noun = count(len(numbers), "partition").split()[1]
    return f"{noun} {', '.join(map(str, numbers))}"


# ---- what is asked


class _Questions:
    """Asks each question once, where its answer shows for the first time."""

    def __init__(self, strategy: str, plan: RebalancePlan) -> None:
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
