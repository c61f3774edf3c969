"""`step failover`: a broker dies and comes back, second by second, as S4's two figures have it.

    switch on     messages for a partition without a leader go to one that has a leader
    switch off    they are tried 1 + 3 times, and lost; the sender goes on, or stops
    replicas      with two or more, a secondary copy (S) becomes the main one (M): no figure of loss

The document is made of what `explain.replays.failover` yields. Its last state has the sums. Source:
S4.
"""

from collections.abc import Sequence

from kminilog.explain.document import Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.replays.failover import DEFAULT_PLAN, PARTITIONS, FailoverPlan, FailoverSecond
from kminilog.explain.script import Script
from kminilog.producer.delivery import DeliveryReport

STEPS = (
    *("Before", "All brokers are up", "Broker 0 is down", "Broker 0 comes back", "In all"),
    *("Before, with copies", "A copy takes over", "Broker 0 copies", "In all, with copies"),
)
SWITCH = "send.switch.broker.enable"
_DEAD = 0  # the broker that dies, and the partition that only it has


def document(
    seconds: Sequence[FailoverSecond],
    *,
    is_switch_on: bool,
    plan: FailoverPlan = DEFAULT_PLAN,
    replicas: int = 1,
) -> Document:
    """Return the step-through of a replay with this switch and this plan.

    Raises what the replay raises.
    """
    value = "true" if is_switch_on else "false"
    told = Script(
        __file__,
        "failover",
        STEPS,
        switch=value,
        is_switch_on=is_switch_on,
        partitions=PARTITIONS,
        plan=plan,
        replicas=replicas,
    )
    has_copies = replicas > 1
    told.tell(
        "Before, with copies" if has_copies else "Before",
        values={SWITCH: value, "messages each second": plan.rounds * PARTITIONS},
        picture=_picture([], plan),
    )
    seen: list[FailoverSecond] = []
    for second in seconds:
        seen.append(second)
        step, begins = "All brokers are up", second.second == plan.dies_at
        if second.second == plan.returns_at:
            step, begins = "Broker 0 copies" if has_copies else "Broker 0 comes back", True
        elif _is_down(second, plan):
            step = "A copy takes over" if has_copies else "Broker 0 is down"
        more = {n: arrived - plan.rounds for n, arrived in second.by_partition.items()}
        told.tell(
            step,
            asks=begins,
            values=_sums(seen),
            tables=[_table(seen)],
            picture=_picture(seen, plan),
            begins=begins,
            second=second,
            elsewhere={n: extra for n, extra in more.items() if extra and n != _DEAD},
            stops="stops" in second.event,
        )
    told.tell(
        "In all, with copies" if has_copies else "In all",
        values=_sums(seen),
        tables=[_table(seen, has_sum=True)],
        picture=_picture(seen, plan),
        report=total(seen),
        messages=len(seen) * PARTITIONS * plan.rounds,
        stopped=any("stops" in one.event for one in seen),
    )
    return told.document()


def total(seconds: Sequence[FailoverSecond]) -> DeliveryReport:
    """Return the producer's counts of all the seconds together.

    >>> one = FailoverSecond(0, "", {0: 2}, DeliveryReport(acknowledged=2), "")
    >>> total([one, one]).acknowledged
    4
    """
    return DeliveryReport(*map(sum, zip(*(second.report for second in seconds), strict=True)))


def _sums(seen: Sequence[FailoverSecond]) -> dict[str, Value]:
    return {name.replace("_", " "): sum for name, sum in total(seen)._asdict().items()}


def _table(seen: Sequence[FailoverSecond], *, has_sum: bool = False) -> Table:
    columns = ("second", *(f"p{number}" for number in range(PARTITIONS)), "retries", "lost")
    rows: list[tuple[Value, ...]] = [
        (
            one.second,
            *one.by_partition.values(),
            one.report.retries,
            one.report.lost,
            one.event or None,
        )
        for one in seen
    ]
    marked = len(rows) - 1
    if has_sum:
        sums = [sum(one.by_partition[number] for one in seen) for number in range(PARTITIONS)]
        rows.append((None, *sums, total(seen).retries, total(seen).lost, "in all"))
        marked += 1
    title = "Messages that arrived in each partition"
    return Table(title, (*columns, "what happens"), tuple(rows), (marked,))


def _picture(seen: Sequence[FailoverSecond], plan: FailoverPlan) -> Picture:
    """Return a lane for each broker: how many messages arrived there in each second."""
    if seen and len(seen[0].replicas.get(_DEAD, ())) > 1:
        return _picture_of_copies(seen, plan)
    last = len(seen) - 1
    lanes = []
    for number in range(PARTITIONS):
        bars = []
        for place, one in enumerate(seen):
            is_dead = number == _DEAD and _is_down(one, plan)
            arrived = one.by_partition[number]
            style = (
                "lost"
                if is_dead
                else "here"
                if place == last
                else "key"
                if arrived > plan.rounds
                else ""
            )
            lost = f"{one.report.lost} lost" if one.report.lost else "down"
            label = lost if is_dead else str(arrived)
            bars.append(Bar(place, place + 1, label, style, f"p{number} {place}", row=(0, place)))
        lanes.append(PictureLane(f"broker {number}, p{number}", 0, plan.seconds, tuple(bars)))
    return Picture("Messages that arrived, second by second", tuple(lanes))


def _picture_of_copies(seen: Sequence[FailoverSecond], plan: FailoverPlan) -> Picture:
    """Return a lane for each copy: where it is the main one (M), and where a secondary one (S)."""
    copies = [(node, p) for p, nodes in seen[0].replicas.items() for node in nodes]
    lanes = []
    for node, number in sorted(copies):
        bars = []
        for place, one in enumerate(seen):
            label, style = "S", ""
            if node == _DEAD and _is_down(one, plan):
                label, style = "down", "lost"
            elif one.leaders[number] == node:
                label = f"M {one.by_partition[number]}"
                style = "here" if place == len(seen) - 1 else "key"
            bars.append(Bar(place, place + 1, label, style, f"b{node} p{number} {place}"))
        lanes.append(PictureLane(f"broker {node}, p{number}", 0, plan.seconds, tuple(bars)))
    title = "Main copies (M) with the messages that arrived, and secondary copies (S)"
    return Picture(title, tuple(lanes))


def _is_down(second: FailoverSecond, plan: FailoverPlan) -> bool:
    return plan.dies_at <= second.second < plan.returns_at
