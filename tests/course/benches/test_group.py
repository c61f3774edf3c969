"""The bench of a group answers as `assign` and `group demo` do, whatever is played."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.consumer.assignor_registry import ASSIGNORS
from kminilog.course.benches.group import BENCH
from kminilog.explain.document import Document
from tests.support.cli.command_line import CommandLine
from tests.support.course.benches.played import act, assert_valid_or_one_line, played

JOINS = ["join C orders,views", "join A orders", "join B orders,views"]
COMMAND = CommandLine(Path("unused"))


def row_of(document: Document, assignor: str) -> list[tuple[str, str]]:
    """Return label and style of each partition, in the last row of an assignor."""
    assert document.final.picture is not None
    lanes = document.final.picture.lanes
    heads = [n for n, lane in enumerate(lanes) if lane.name == assignor]
    last = next(
        (n for n in range(heads[0] + 1, len(lanes)) if not lanes[n].name[0].isdigit()), len(lanes)
    )
    return [(bar.label, bar.style) for bar in lanes[last - 1].bars]


def readers(document: Document, assignor: str) -> str:
    return "".join(label or "-" for label, _ in row_of(document, assignor))


def assigned(assignor: str, members: list[str], path: Path) -> str:
    """Return who gets which partition from `assign`, called again each time a member joins."""
    previous: list[str] = []
    for number in range(1, len(members) + 1):
        given = [word for member in members[:number] for word in ("--member", member)]
        topics = ["--topic", "orders=7", "--topic", "views=5"]
        words = ["assign", "--strategy", assignor, *topics, *given, "--json", *previous]
        run = COMMAND.ok(*words)
        path.write_text(run.out)
        previous = ["--previous", str(path)]
        if run.document["left_out"]:  # they wait for their owners: the second round
            run = COMMAND.ok(*words[:-2] if number > 1 else words, *previous)
            path.write_text(run.out)
    owner = {
        tuple(partition): member
        for member, partitions in json.loads(path.read_text())["assignment"].items()
        for partition in partitions
    }
    places = [("orders", n) for n in range(7)] + [("views", n) for n in range(5)]
    return "".join(owner[place] for place in places)


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_group_bench_assigns_as_the_command_line_does(tmp_path, assignor):
    document = played(
        BENCH, "topic views 5", *JOINS, assignor=assignor, beside="none", partitions="7"
    )
    members = [f"{name}:{topics}" for _, name, topics in map(str.split, JOINS)]
    assert readers(document, assignor) == assigned(assignor, members, tmp_path / "previous.json")


@pytest.mark.parametrize("assignor", [name for name in ASSIGNORS if name != "cooperative-sticky"])
def test_group_bench_has_the_readers_of_the_demo(assignor):
    seconds = COMMAND.ok("group", "demo", "--strategy", assignor, "--json").document["seconds"]
    acts = ["join A orders", "join B orders", "join C orders", "leave B", "sleep A", "wait"]
    acts.append("wake A")
    stable_at = [3, 8, 13, 19, 20, 31, 37]
    given = {"assignor": assignor, "beside": "none", "partitions": "4"}
    for number, second in enumerate(stable_at, start=1):
        document = BENCH.answer(given, acts[:number])
        row = row_of(document, assignor)
        found = ["-" if style in ("lost", "free") else label for label, style in row]
        expected = [who or "-" for who in seconds[second]["reader_by_partition"].values()]
        assert found == expected, acts[:number]
        now = document.final.tables[0].rows[0]
        assert now[:3] == (assignor, "Stable", seconds[second]["generation"]), acts[:number]


def test_group_bench_stands_still_while_the_group_waits_for_a_silent_member():
    acts = ["join A orders", "join B orders", "kill A", "join D orders"]
    document = played(BENCH, *acts)
    assert row_of(document, "range") == [("A", "lost")] * 3 + [("", "free")] * 3
    assert document.final.tables[0].rows[0] == ("range", "PreparingRebalance", 2, 6)
    assert "heard nothing from A" in document.steps[-1].say
    document = played(BENCH, *acts, "wait")
    assert readers(document, "range") == "BBBDDD"


def test_group_bench_says_if_a_member_that_wakes_was_removed():
    acts = ["join A orders", "join B orders", "sleep A"]
    assert "still a member" in played(BENCH, *acts, "wake A").steps[-1].say
    assert "joins as a new member" in played(BENCH, *acts, "wait", "wake A").steps[-1].say


def test_group_bench_names_a_member_by_the_next_letter():
    document = played(BENCH, *["join '' orders"] * 3, "kill B", "join '' orders", "wait")
    assert [row[0] for row in document.final.tables[1].rows[:3]] == ["join A", "join B", "join C"]
    assert readers(document, "range") == "AABBCC"


def test_group_bench_takes_as_many_dead_members_of_a_name_as_there_are_acts():
    document = played(BENCH, *["join A orders", "kill A"] * 100)
    assert row_of(document, "range")[0] == ("A", "lost")


def test_group_bench_counts_what_moved_with_each_assignor():
    acts = ["join A orders", "join B orders", "join C orders", "leave A"]
    document = played(BENCH, *acts, assignor="roundrobin", beside="sticky")
    _, table = document.final.tables
    assert table.columns == ("act", "roundrobin", "sticky")
    assert [row[0] for row in table.rows] == ["join A", "join B", "join C", "leave A", "in all"]
    assert table.rows[-2] == ("leave A", 4, 2)


@pytest.mark.parametrize(
    ("acts", "reason"),
    [
        ("join a,b orders", "join: 'a,b' is no name; give 1 to 8 letters or digits"),
        ("join A orders;join A orders", "join: there is a member A; give another name"),
        ("join A orders,", "join: '' is no topic; write topics as orders,views"),
        ("kill A", "kill: there is no member A; the members: none"),
        ("join A orders;wake A", "wake: member A is awake"),
        ("join A orders;sleep A;sleep A", "sleep: member A sleeps"),
        ("join A orders;sleep A;leave A", "leave: member A sleeps"),
        ("topic orders 6", "topic orders, partitions: '6' is no number from 7 to 16"),
        ("topic a 16;topic a 17", "topic: a has 16 partitions; there is room for no more"),
        (
            "topic a 1;topic b 1;topic c 1;topic d 1",
            "topic: there are 4 topics; there is room for no more",
        ),
    ],
)
def test_group_bench_says_why_an_act_is_impossible(acts, reason):
    with pytest.raises(ValueError) as caught:
        played(BENCH, *acts.split(";"))
    assert str(caught.value) == reason


NAMES = st.sampled_from("ABCD")
ACTS = st.one_of(
    st.builds(
        act,
        st.just("join"),
        NAMES,
        st.sampled_from(["orders", "views", "orders,views", "views,none", ""]),
    ),
    st.builds(
        lambda what, name: act(what, name),
        st.sampled_from(["leave", "kill", "sleep", "wake"]),
        NAMES,
    ),
    st.just("wait"),
    st.builds(act, st.just("topic"), st.sampled_from(["orders", "views"]), st.integers(0, 17)),
)


@settings(max_examples=50)
@given(
    acts=st.lists(ACTS, max_size=20),
    assignor=st.sampled_from([*ASSIGNORS]),
    beside=st.sampled_from([*ASSIGNORS, "none"]),
)
def test_group_bench_whatever_is_played_is_a_document_or_one_line(acts, assignor, beside):
    given = {"assignor": assignor, "beside": beside}
    possible: list[str] = []
    for each in acts:
        try:
            BENCH.answer(given, [*possible, each])
        except ValueError:
            assert_valid_or_one_line(BENCH, [*possible, each], given)
        else:
            possible.append(each)
    assert_valid_or_one_line(BENCH, possible, given)
