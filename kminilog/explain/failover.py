"""`step failover`: a broker dies and comes back, second by second, as S4's two figures have it.

    switch on     messages for a partition without a leader go to one that has a leader
    switch off    they are tried 1 + 3 times, and lost; the sender goes on, or stops

The document is made of what `explain.replays.failover` yields. Its last state has the sums. Source:
S4.
"""

from collections.abc import Iterable, Sequence

from kminilog.explain.document import Ask, Bar, Document, Picture, PictureLane, Table, Value
from kminilog.explain.recording import Recording, ask
from kminilog.explain.replays.failover import DEFAULT_PLAN, PARTITIONS, FailoverPlan, FailoverSecond
from kminilog.producer.delivery import DeliveryReport
from kminilog.text import count

SWITCH = "send.switch.broker.enable"
_DEAD = 0  # the broker that dies, and the partition that only it has


def document(
    seconds: Iterable[FailoverSecond], *, is_switch_on: bool, plan: FailoverPlan = DEFAULT_PLAN
) -> Document:
    """Return the step-through of a replay with this switch and this plan.

    Raises what the replay raises.
    """
    value = "true" if is_switch_on else "false"
    recording = Recording(
        "failover", f"Where messages go when a broker dies, with {SWITCH} = {value}"
    )
    recording.step(
        f"{PARTITIONS} partitions are on {PARTITIONS} brokers, with one replica each. So only "
        "broker 0 has partition 0. The keys 0, 1, 2, 3 come in turn, and each second brings "
        f"{count(plan.rounds, 'message')} for each partition.",
        values={SWITCH: value, "messages each second": plan.rounds * PARTITIONS},
        picture=_picture([], plan),
    )
    seen: list[FailoverSecond] = []
    for second in seconds:
        seen.append(second)
        recording.step(
            _said(second, is_switch_on=is_switch_on, plan=plan),
            ask=_question(second, is_switch_on=is_switch_on, plan=plan),
            values=_sums(seen),
            tables=[_table(seen)],
            picture=_picture(seen, plan),
        )
    recording.step(
        _told(seen, is_switch_on=is_switch_on, plan=plan),
        values=_sums(seen),
        tables=[_table(seen, has_sum=True)],
        picture=_picture(seen, plan),
    )
    return recording.document()


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


def _is_down(second: FailoverSecond, plan: FailoverPlan) -> bool:
    return plan.dies_at <= second.second < plan.returns_at


def _said(second: FailoverSecond, *, is_switch_on: bool, plan: FailoverPlan) -> str:
    said = f"Second {second.second}: "
    if second.second == plan.returns_at:
        return (
            f"{said}broker 0 comes back, and leads partition 0 again. New messages for partition 0 "
            "go there. The messages of the seconds before do not come back."
        )
    if not _is_down(second, plan):
        return f"{said}each partition gets the messages with its key."
    begins = second.second == plan.dies_at
    said += "broker 0 dies, and partition 0 has no leader. " if begins else "still no leader. "
    if is_switch_on:
        elsewhere = _elsewhere(second, plan)
        how = ", drawn at random for each" if begins else ""
        return f"{said}Its messages go to partitions that have a leader{how}: {elsewhere}."
    said += (
        f"The producer tries {count(1 + second.report.retries, 'time')} to send the batch for "
        "partition 0, and "
        f"{count(second.report.lost, 'message', 'are')} lost."
    )
    if begins:
        said += f' The program gets the error: "{second.error}".'
    return said + (" The sender stops." if "stops" in second.event else "")


def _elsewhere(second: FailoverSecond, plan: FailoverPlan) -> str:
    more = {n: arrived - plan.rounds for n, arrived in second.by_partition.items() if n != _DEAD}
    return ", ".join(f"{extra} to p{n}" for n, extra in more.items() if extra) or "none"


def _told(seen: Sequence[FailoverSecond], *, is_switch_on: bool, plan: FailoverPlan) -> str:
    report = total(seen)
    all_messages = count(len(seen) * PARTITIONS * plan.rounds, "message")
    said = f"{report.acknowledged} of {all_messages} acknowledged, {report.lost} lost"
    if is_switch_on:
        return said + (
            ". But messages with the key 0 are in several partitions now, so they have lost their "
            "order."
        )
    said += ": those for partition 0 while it had no leader. "
    if any("stops" in one.event for one in seen):
        return said + (
            "A sender that stops loses no more messages. But it sends no more either, until "
            "somebody has looked at it."
        )
    return said + "The other messages keep their order."


def _question(second: FailoverSecond, *, is_switch_on: bool, plan: FailoverPlan) -> Ask | None:
    every, others = plan.rounds * PARTITIONS, plan.rounds * (PARTITIONS - 1)
    if second.second == plan.dies_at:
        return ask(
            f"Broker 0 is dead from now on, and {SWITCH} is {'on' if is_switch_on else 'off'}. How "
            f"many of the {every} messages of this second arrive?",
            str(sum(second.by_partition.values())),
            "The messages for partition 0 go to other partitions."
            if is_switch_on
            else "The messages for partition 0 have no leader, and may not go to another "
            "partition.",
            {
                str(every): "That would be right if they could go to another partition. But the "
                "switch is off.",
                str(others): "That is right with the switch off, when no message goes to another "
                "partition.",
                "0": "The other brokers do not depend on broker 0. Each of them leads its own "
                "partition.",
            },
        )
    if second.second == plan.returns_at:
        waited = plan.rounds * (plan.returns_at - plan.dies_at + 1)
        return ask(
            "Broker 0 is back. How many messages arrive in partition 0 in this second?",
            str(second.by_partition[_DEAD]),
            f"Only {count(plan.rounds, 'message')}, of this second.",
            {
                str(waited): "Nobody has kept the earlier messages for it. They went to other "
                "partitions, or were lost.",
                "0": "It still has its log, and leads partition 0 at once.",
            },
        )
    return None
