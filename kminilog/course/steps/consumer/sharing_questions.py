"""The questions of `step range`, and the thoughts that lead to the usual wrong answers.

    remainder-to-last    global-not-per-topic    join-order-not-sorted    M-for-everybody

Right and wrong answers are computed, so they fit any topics and members. Where too many of them
are the same, there is no question. Source: ours; the usual misconceptions.
"""

from collections.abc import Iterable, Mapping, Sequence

from kminilog.consumer.assignors.interface import Assignment
from kminilog.consumer.assignors.multiple import runs as multiple_runs
from kminilog.consumer.assignors.range import runs as range_runs
from kminilog.course.steps.document import Ask
from kminilog.course.steps.recording import ask, question_with_enough_choices
from kminilog.text import count


def who_is_first(joined: Sequence[str], ordered: Sequence[str]) -> Ask | None:
    """Ask for the order in which members are served."""
    return question_with_enough_choices(
        ask(
            f"The members joined in the order {', '.join(joined)}. Who is served first?",
            ordered[0],
            "An assignor sorts the members by their ids, as texts. So its answer does not depend "
            "on who was faster.",
            {
                ordered[-1]: "That is the greatest id. The order is ascending.",
                joined[-1]: "That is the last one to join. When a member joined does not count.",
                joined[0]: "That is the first one to join. When a member joined does not count.",
            },
        )
    )


def shares_of_range(topic: str, partitions: int, members: int) -> Ask | None:
    """Ask for the counts of one topic by range."""
    each, extra = divmod(partitions, members)
    return question_with_enough_choices(
        ask(
            f"range: {topic} has P = {partitions} partitions, the group has C = {members} members. "
            "How many does each member get, in order?",
            _counts(range_runs(partitions, members)),
            f"P div C = {each} for everybody, and one more for the first P mod C = {extra}.",
            {
                _counts(multiple_runs(partitions, members)): "That rounds P / C up for everybody: "
                "it is the documents' other rule, multiple.",
                _listed([each] * members): "That leaves the remainder to nobody. Then some "
                "partitions would never be read.",
                _listed(_to_last(partitions, members)): "That gives the remainder to the last "
                "member. It goes to the first members, one each.",
            },
        )
    )


def totals_of_range(
    topics: Mapping[str, int], ordered: Sequence[str], assignment: Assignment
) -> Ask | None:
    """Ask for the counts of all topics together by range."""
    lasts = [_to_last(partitions, len(ordered)) for partitions in topics.values()]
    return question_with_enough_choices(
        ask(
            f"range, {count(len(topics), 'topic')}: how many partitions does each member get in "
            "all?",
            _listed(len(assignment[member]) for member in ordered),
            "Each topic is shared out from the first member on, so its extras add up.",
            {
                _listed(map(sum, zip(*lasts, strict=True))): "That gives the remainder of each "
                "topic to the last member. It goes to the first ones.",
                _counts(range_runs(sum(topics.values()), len(ordered))): "That shares out the "
                "partitions of all topics as one list. range does so topic by topic.",
            },
        )
    )


def last_share_of_multiple(topic: str, partitions: int, members: int) -> Ask | None:
    """Ask how much is left for the last member by multiple."""
    shares = multiple_runs(partitions, members)
    each, last = shares[0][1], shares[-1][1]
    return question_with_enough_choices(
        ask(
            f"multiple: {topic} has {count(partitions, 'partition')}, and M = {partitions} / "
            f"{members} rounded up = {each}. How many does the last member get?",
            str(last),
            f"Those before it take {partitions - last} of {partitions}.",
            {
                str(each + 1): "That gives the remainder to the last member, on top of M. M is "
                "rounded up, so nothing is left over.",
                str(each): "That is M. But M is rounded up, so there may not be enough for all.",
                str(partitions // members): "That is what range gives it. Here every member "
                "before it takes a whole M.",
            },
        )
    )


def first_of_topic(
    topic: str, ordered: Sequence[str], assignment: Assignment, dealt: int
) -> Ask | None:
    """Ask who gets the first partition of a topic by round robin, after `dealt` of others."""
    taker = next(i for i, member in enumerate(ordered) if (topic, 0) in assignment[member])
    last, after = ordered[taker - 1], ordered[(taker + 1) % len(ordered)]
    return question_with_enough_choices(
        ask(
            f"roundrobin has dealt {count(dealt, 'partition')}, the last one to {last}. Who gets "
            f"{topic}-0?",
            ordered[taker],
            f"The turn goes on after {last}, whatever the topic: all topics are one list.",
            {
                last: f"{last} had the last one. Each member gets one in turn.",
                after: f"That passes over {ordered[taker]}. Each member gets one in turn.",
                ordered[0]: "That begins anew for each topic, as range does. roundrobin goes on "
                "where it was.",
            },
        )
    )


def how_many_move(
    name: str, joining: str, partitions: int, *, moved: int, gained: int
) -> Ask | None:
    """Ask how many of all partitions move when a member joins, of which it gets `gained`."""
    return question_with_enough_choices(
        ask(
            f"{joining} joins. How many of the {partitions} partitions get another owner, by "
            f"{name}?",
            str(moved),
            f"{gained} go to {joining}, and {moved - gained} from one of the others to another "
            "one.",
            {
                str(partitions): "That gives everything to another member. All members stop "
                "reading for a moment, but some get back what they had.",
                "0": "That leaves the new member without any until another one leaves. But a "
                "group shares out anew whenever a member joins.",
                str(gained): f"That counts only what {joining} gets. But the others are served in "
                "other places now, too.",
            },
        )
    )


def _to_last(partitions: int, members: int) -> list[int]:
    """Return the counts of those who give the remainder to the last member."""
    each, extra = divmod(partitions, members)
    return [*[each] * (members - 1), each + extra]


def _counts(shares: Iterable[tuple[int, int]]) -> str:
    return _listed(taken for _, taken in shares)


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
