"""Checks of lab 8: who gets which partition."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from kminilog.consumer.assignors.interface import Assignment, Member, in_order, text_order
from kminilog.consumer.assignors.multiple import Multiple
from kminilog.consumer.assignors.multiple import runs as multiple_runs
from kminilog.consumer.assignors.range import Range
from kminilog.consumer.assignors.range import runs as range_runs
from kminilog.consumer.assignors.sticky import Sticky
from kminilog.course.comparing import Comparer, common_code
from kminilog.format.names import TopicPartition
from kminilog.text import table

Runs = Callable[[int, int], list[tuple[int, int]]]
Group = tuple[dict[str, int], list[Member]]
Order = Callable[[Sequence[Member]], Sequence[Member]]


def first_win(name: str) -> list[str]:
    """Return what a group of three, the student among them, gets of a topic."""
    members = [Member(each, ("orders",)) for each in dict.fromkeys((name, "bob", "carol"))]
    answer = Range().assign({"orders": 10}, members)
    rows = [(who, ", ".join(map(str, partitions))) for who, partitions in answer.items()]
    return table(("member", "partitions"), rows)


# ---- 8.1


def _runs_of(counts: Sequence[int]) -> list[tuple[int, int]]:
    return [(sum(counts[:place]), count) for place, count in enumerate(counts)]


def _pairs(given: Any) -> Any:
    """Return runs as a list of tuples, however the student has written them."""
    return [_tuple(run) for run in given] if isinstance(given, list | tuple) else given


def _tuple(given: Any) -> Any:
    """Return a list as a tuple; anything else is left as it is."""
    return tuple(given) if isinstance(given, list | tuple) else given


def _rounded_down(partitions: int, members: int) -> list[tuple[int, int]]:
    return _runs_of([partitions // members] * members)


def _one_more(partitions: int, members: int) -> list[tuple[int, int]]:
    each = partitions // members + 1
    starts = [min(place * each, partitions) for place in range(members)]
    return [(start, min(each, partitions - start)) for start in starts]


def _rest_to_last(partitions: int, members: int) -> list[tuple[int, int]]:
    each, rest = divmod(partitions, members)
    return _runs_of([each] * (members - 1) + [each + rest])


def _past_end(partitions: int, members: int) -> list[tuple[int, int]]:
    each = -(-partitions // members)
    return [(each * place, each) for place in range(members)]


RUNS: tuple[tuple[str, Runs], ...] = (
    ("remainder-to-last", lambda p, m: _runs_of([p // m] * (m - p % m) + [p // m + 1] * (p % m))),
    ("remainder-to-one", _rest_to_last),
    ("remainder-dropped", _rounded_down),
    ("multiple-instead", multiple_runs),
    ("multiple-past-end", _past_end),
    ("end-not-count", lambda p, m: [(start, start + count) for start, count in range_runs(p, m)]),
    (
        "starts-not-shifted",
        lambda p, m: [(p // m * i, count) for i, (_, count) in enumerate(range_runs(p, m))],
    ),
)


def precondition_1(partitions: int, members: int) -> bool:
    return partitions >= 0 and members >= 1


def exercise_1(compare: Comparer, runs: Callable[..., Any]) -> None:
    chance = Random(8)
    cases = [(14, 4), (10, 3), (1, 2), (0, 3), (4, 4), (7, 5), (3, 1), (100, 7)]
    cases += [(1_000_003, 10), (12_345, 99)]
    cases += [(chance.randrange(40), chance.randrange(1, 12)) for _ in range(60)]
    made = {f"runs{case}": lambda runs, case=case: _pairs(runs(*case)) for case in cases}
    compare.runs(made, runs, range_runs, RUNS)


# ---- 8.2 and 8.3


def _assignment(
    group: Group,
    runs: Runs,
    order: Order,
    *,
    everybody: bool = False,
    as_given: bool = False,
    as_read: bool = False,
    of_all: bool = False,
    place_in_all: bool = False,
) -> Assignment:
    """Return an assignment by runs, with one thing done otherwise.

    `of_all`: runs for as many members as there are; `place_in_all`: a member takes that of its
    place among all of them.
    """
    partitions, members = group
    answer: Assignment = {member.id: [] for member in members}
    for topic in partitions if as_given else sorted(partitions):
        reading = [member for member in order(members) if everybody or topic in member.topics]
        shares = runs(partitions[topic], len(members if of_all else reading) or 1)
        for member, (start, count) in zip(
            order(members) if place_in_all else reading, shares, strict=False
        ):
            numbers = range(start, start + count) if member in reading else ()
            answer[member.id] += [TopicPartition(topic, number) for number in numbers]
    if as_read:  # each member's topics in its own order
        topics = {member.id: list(member.topics) for member in members}
        for member_id, given in answer.items():
            given.sort(key=lambda each: topics[member_id].index(each.topic))
    return answer


def _together(group: Group) -> Assignment:
    """Return what range would give if all topics were one."""
    partitions, members = group
    every = [TopicPartition(t, n) for t in sorted(partitions) for n in range(partitions[t])]
    shares = zip(in_order(members), range_runs(len(every), len(members) or 1), strict=False)
    return {member.id: every[start : start + count] for member, (start, count) in shares}


def _all_to_all(group: Group) -> Assignment:
    """Return what all members have if they share one list."""
    partitions, members = group
    read = sorted(topic for topic in partitions if any(topic in each.topics for each in members))
    every = [TopicPartition(topic, n) for topic in read for n in range(partitions[topic])]
    return {member.id: every for member in members}


def _owners_first(order: Order) -> Order:
    return lambda members: sorted(order(members), key=lambda member: -len(member.owned))


def _by_id(members: Sequence[Member]) -> list[Member]:
    return sorted(members, key=lambda member: text_order(member.id))


def _by_either_id(members: Sequence[Member]) -> list[Member]:
    return sorted(members, key=lambda member: text_order(member.instance_id or member.id))


def _as_numbers(members: Sequence[Member]) -> list[Member]:
    return sorted(members, key=lambda member: (len(member.id), member.id))


def _in_order_of_numbers(members: Sequence[Member]) -> list[Member]:
    return sorted(in_order(members), key=lambda each: (each.instance_id is None, len(each.id)))


def _cases() -> list[tuple[str, Group]]:
    def of(*texts: str, topics: str = "t0 t1") -> list[Member]:
        """Return members: "a", or "a@static"; they read all `topics`."""
        pairs = [text.partition("@") for text in texts]
        return [Member(id, tuple(topics.split()), static or None) for id, _, static in pairs]

    two = {"t0": 3, "t1": 3}
    mixed = [*of("a"), *of("b", topics="t0"), *of("c")]
    found = [
        ("2 topics of 3, members b a", (two, of("b", "a"))),
        ("t0=10, t1=3, b reads t0 only", ({"t0": 10, "t1": 3}, mixed)),
        ("4 of a topic, members c a b", ({"t0": 4}, of("c", "a", "b", topics="t0"))),
        ("2 topics of 3, members b a z@i", (two, of("b", "a", "z@i"))),
        ("2 topics of 3, members c3 c2 c10", (two, of("c3", "c2", "c10"))),
        ("1 of a topic, members a b c", ({"t0": 1}, of("a", "b", "c", topics="t0"))),
        ("topics in the order t1 t0", ({"t1": 3, "t0": 3}, of("a", "b"))),
        ("2 topics of 3, members read t1 t0", (two, of("b", "a", topics="t1 t0"))),
        ("3 of a topic, members a@y b@x c", ({"t0": 3}, of("a@y", "b@x", "c", topics="t0"))),
        ("nobody reads t1", (two, of("a", "b", topics="t0"))),
        ("b reads a topic that is not there", (two, [*of("a"), *of("b", topics="t0 t9")])),
        ("no members", (two, [])),
        ("3 of a topic, members a B", ({"t0": 3}, of("a", "B", topics="t0"))),
        (
            "3 of a topic, b owned t0-2",
            ({"t0": 3}, [*of("a"), Member("b", ("t0",), None, (TopicPartition("t0", 2),))]),
        ),
        ("23 of a topic, members a b", ({"t0": 23}, of("a", "b", topics="t0"))),
        (
            "t0=4, t00=4, b reads t00 only",
            ({"t0": 4, "t00": 4}, [*of("a"), *of("b", topics="t00")]),
        ),
    ]
    chance = Random(8)
    for _ in range(40):
        topics = {f"t{n}": chance.randrange(9) for n in range(chance.randrange(1, 4))}
        members = []
        for place in range(chance.randrange(1, 7)):
            reads = " ".join(topic for topic in list(topics)[::-1] if chance.randrange(4))
            static = f"@{'sa'[chance.randrange(2)]}{9 - place}" if chance.randrange(4) == 0 else ""
            members += of(f"m{chance.randrange(10)}{place}{static}", topics=reads)
        sizes = " ".join(f"{topic}={count}" for topic, count in topics.items())
        listed = " ".join(
            f"{m.id}{'@' * bool(m.instance_id)}{m.instance_id or ''}" for m in members
        )
        found.append((f"{sizes}, {listed}", (topics, members)))
    return found


def _plain(answer: Any, order: Callable[[list[Any]], list[Any]] = list) -> Any:
    """Return an answer with lists of tuples in an order, however the student has written them."""
    is_right = isinstance(answer, Mapping) and all(
        isinstance(given, Sequence) for given in answer.values()
    )
    if not is_right:
        return answer
    plain = {member: [_tuple(each) for each in given] for member, given in answer.items()}
    is_plain = all(isinstance(each, tuple) for given in plain.values() for each in given)
    return {member: order(given) for member, given in plain.items()} if is_plain else plain


def _compare_assign(
    compare: Comparer,
    assign: Callable[..., Any],
    right: Callable[..., Assignment],
    readings: Sequence[tuple[str, Callable[..., Assignment]]],
    order: Callable[[list[Any]], list[Any]] = list,
) -> None:
    cases = _cases()

    def give(group: Group) -> Any:
        return _plain(assign(dict(group[0]), list(group[1])), order)

    def expected(group: Group) -> Any:
        return _plain(right(*group), order)

    def busy(group: Group) -> Any:
        return {member: given for member, given in expected(group).items() if given}

    def as_texts(group: Group) -> Any:
        return {member: sorted(given, key=str) for member, given in right(*group).items()}

    every = [*readings, ("idle-left-out", busy), ("sorted-as-texts", as_texts)]
    try:
        answers = [give(group) for _, group in cases]
        wrong = [(code, [_plain(rule(g), order) for _, g in cases]) for code, rule in every]
        code = common_code(answers, wrong)
    except Exception:  # noqa: BLE001 - below, the comparison of that case raises it again
        code = None
    for what, group in cases:
        got, wanted = give(group), expected(group)
        call = f"assign({what})"
        has_lists = isinstance(got, dict) and all(isinstance(each, list) for each in got.values())
        if has_lists and set(got) == set(wanted) and got != wanted:
            # The member whose share differs says more than the whole answer.
            member = next(id for id in sorted(wanted) if got[id] != wanted[id])
            shares = _share(got[member]), _share(wanted[member])
            compare.holds(False, f"{call}[{member!r}]", *shares, code)
        compare.equal(call, lambda got=got: got, wanted, {code: got} if code else {})
    nothing: Group = {}, [Member("a", ()), Member("b", ("t0",))]
    compare.equal(
        "assign(no topics, members a b)",
        lambda: give(nothing),
        expected(nothing),
        {"idle-left-out": {}},
    )
    idle = assign({}, list(nothing[1]))
    compare.holds(
        idle["a"] is not idle["b"] or isinstance(idle["a"], tuple),  # nobody can change that
        "assign(no topics, members a b)",
        "one list for both",
        "two",
        "shares-lists",
    )
    partitions, members = {"t1": 3, "t0": 3}, [Member("b", ("t0",)), Member("a", ("t1", "t0"))]
    before = dict(partitions), list(members)
    assign(partitions, members)
    is_kept = (partitions, members) == before
    call = "the arguments of assign, afterwards"
    compare.holds(is_kept, call, "others", "what they were", "changes-arguments")
    later, first = [Member(id, ("t0",)) for id in ("\ue000", "\U0001f600")]
    group = {"t0": 3}, [later, first]
    right_of = expected(group)
    call = "assign(3 of a topic, members '\\ue000' '\\U0001f600')['\\ue000']"
    mistakes = {"code-points": right_of[first.id]}
    compare.equal(call, lambda: give(group)[later.id], right_of[later.id], mistakes)


def _share(given: Sequence[Any]) -> str:
    texts = ("-".join(map(str, each)) if isinstance(each, tuple) else repr(each) for each in given)
    return " ".join(texts) or "nothing"


def _readings(runs: Runs, order: Order, numbers: Order) -> Any:
    """Return the misconceptions that are possible with any rule for one topic."""
    return [
        ("join-order-not-sorted", lambda group: _assignment(group, runs, list)),
        ("ignores-subscription", lambda group: _assignment(group, runs, order, everybody=True)),
        ("sorted-as-numbers", lambda group: _assignment(group, runs, numbers)),
        ("topics-as-given", lambda group: _assignment(group, runs, order, as_given=True)),
        ("topics-as-given", lambda group: _assignment(group, runs, order, as_read=True)),
        ("shares-lists", _all_to_all),
        ("looks-at-owned", lambda group: _assignment(group, runs, _owners_first(order))),
        *(
            ("counts-all-members", partial(_assignment, runs=runs, order=order, **how))
            for how in (
                {"of_all": True},
                {"place_in_all": True},
                {"of_all": True, "place_in_all": True},
            )
        ),
    ]


def precondition_2(self: Any, partitions: Mapping[str, int], members: Sequence[Member]) -> bool:
    static = [member.instance_id for member in members if member.instance_id is not None]
    return (
        len({member.id for member in members}) == len(members)
        and len({*static, ""}) == len(static) + 1
        and all(len({*member.topics}) == len(member.topics) for member in members)
    )


def exercise_2(compare: Comparer, assign: Callable[..., Any]) -> None:
    readings = [
        *_readings(range_runs, in_order, _in_order_of_numbers),
        ("global-not-per-topic", _together),
        ("static-not-first", lambda group: _assignment(group, range_runs, _by_id)),
        ("static-among-others", lambda group: _assignment(group, range_runs, _by_either_id)),
        ("multiple-instead", lambda group: _assignment(group, multiple_runs, in_order)),
    ]
    own = Range()
    _compare_assign(compare, lambda *group: assign(own, *group), Range().assign, readings)
    (given,) = assign(own, {"t0": 2}, [Member("a", ("t0",))]).values()
    is_right = all(isinstance(each, TopicPartition) for each in given)
    kinds = type(given[0]).__name__, "TopicPartition"
    compare.holds(is_right, "assign(2 of a topic, member a)['a'][0]", *kinds, "pairs-of-no-name")


def exercise_3(compare: Comparer, multiple: Callable[[], Any]) -> None:
    readings = [
        *_readings(multiple_runs, _by_id, _as_numbers),
        ("static-counts", lambda group: _assignment(group, multiple_runs, in_order)),
        ("balanced-instead", lambda group: _assignment(group, range_runs, _by_id)),
        ("multiple-rounds-down", lambda group: _assignment(group, _rounded_down, _by_id)),
        ("multiple-one-more", lambda group: _assignment(group, _one_more, _by_id)),
        ("multiple-rest-to-last", lambda group: _assignment(group, _rest_to_last, _by_id)),
        ("multiple-past-end", lambda group: _assignment(group, _past_end, _by_id)),
    ]
    right = Multiple().assign
    _compare_assign(
        compare, lambda *group: multiple().assign(*group), right, readings, order=sorted
    )
    one = multiple()
    answers = []
    for size in (4, 7):
        group = {"t0": size}, [Member("a", ("t0",)), Member("b", ("t0",))]
        answers.append(one.assign(*group))
        is_shared = size == 7 and any(
            answers[0][each] is answers[1].get(each) for each in answers[0]
        )
        for number, before in enumerate((4, 7)[: len(answers)]):
            got = _plain(answers[number], sorted)
            wanted = _plain(right({"t0": before}, group[1]), sorted)
            call = f"assign({before} of a topic), after {len(answers)} calls"
            mistakes = {"shares-answers": got} if is_shared else {}
            compare.equal(call, lambda got=got: got, wanted, mistakes)


# ---- 8.4


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write what range gave to three members of a group with two topics, by the student's seed."""
    chance = Random(seed)
    topics = {"orders": 10 + chance.randrange(10), "views": 5 + chance.randrange(10)}
    given = Range().assign(topics, _members(3))
    text = json.dumps({"strategy": "range", "assignment": given})
    (folder / "before.json").write_text(text + "\n", encoding="utf-8")


def _members(count: int, before: Assignment | None = None) -> list[Member]:
    ids = [f"c{number + 1}" for number in range(count)]
    owned = before or {}
    return [Member(id, ("orders", "views"), owned=tuple(owned.get(id, ()))) for id in ids]


def _before(folder: Path) -> Assignment:
    found = json.loads((folder / "files" / "before.json").read_text(encoding="utf-8"))
    return {
        id: [TopicPartition(*pair) for pair in pairs] for id, pairs in found["assignment"].items()
    }


def _moved(before: Assignment, after: Assignment) -> int:
    return sum(pair not in after[id] for id, pairs in before.items() for pair in pairs)


def solve_4(folder: Path) -> dict[str, Any]:
    """Return the right constants of exercise 4, as the library's assignors give them."""
    before = _before(folder)
    every = [pair for pairs in before.values() for pair in pairs]
    topics = {t: sum(pair.topic == t for pair in every) for t in ("orders", "views")}
    members = _members(4, before)
    return {
        "FIRST_COUNT": len(before["c1"]),
        "LAST_COUNT": len(before["c3"]),
        "MOVED_BY_RANGE": _moved(before, Range().assign(topics, members)),
        "MOVED_BY_STICKY": _moved(before, Sticky().assign(topics, members)),
    }


def exercise_4(compare: Comparer, answers: dict[str, Any], folder: Path) -> None:
    right = solve_4(folder)
    mistakes = {
        "MOVED_BY_RANGE": {"counts-what-one-gets": right["MOVED_BY_STICKY"]},
        "MOVED_BY_STICKY": {"range-moves-more": right["MOVED_BY_RANGE"]},
    }
    for name, value in right.items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes.get(name))


# ---- 8.9: what counts of a result; lists and tuples are alike

view_9 = _pairs
