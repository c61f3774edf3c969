"""`assign`: who gets which partition."""

import json
import sys
from pathlib import Path

import pytest

from kminilog.consumer.assignor_registry import ASSIGNORS
from tests.support.cli.command_line import assert_one_line, assert_refused

THREE = ["--member", "c0", "--member", "c1", "--member", "c2"]


def numbers(run):
    return {
        member: [partition for _, partition in found]
        for member, found in run.document["assignment"].items()
    }


def test_assign_of_the_documents_example_is_a_table(kminilog):
    assert kminilog.ok("assign", "--topic", "orders=10", *THREE).out == (
        "member  count  partitions\n"
        "c0          4  orders 0-3\n"
        "c1          3  orders 4-6\n"
        "c2          3  orders 7-9\n"
    )


def test_assign_json_has_member_topic_and_partition(kminilog):
    run = kminilog.ok("assign", "--topic", "t=2", "--member", "b@i:t", "--member", "a", "--json")
    assert run.document == {
        "strategy": "range",
        "assignment": {"b": [["t", 0]], "a": [["t", 1]]},
        "moved": [],
        "left_out": [],
    }


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("range", {"c0": [0, 1, 2, 3], "c1": [4, 5, 6], "c2": [7, 8, 9]}),
        ("multiple", {"c0": [0, 1, 2, 3], "c1": [4, 5, 6, 7], "c2": [8, 9]}),
        ("roundrobin", {"c0": [0, 3, 6, 9], "c1": [1, 4, 7], "c2": [2, 5, 8]}),
        ("sticky", {"c0": [0, 3, 6, 9], "c1": [1, 4, 7], "c2": [2, 5, 8]}),
        ("cooperative-sticky", {"c0": [0, 3, 6, 9], "c1": [1, 4, 7], "c2": [2, 5, 8]}),
    ],
)
def test_assign_by_each_strategy(kminilog, strategy, expected):
    options = ["--strategy", strategy, "--topic", "t=10", *THREE, "--json"]
    assert numbers(kminilog.ok("assign", *options)) == expected
    assert strategy in ASSIGNORS


def test_assign_strategies_side_by_side_where_they_differ(kminilog):
    both = ["--strategy", "range", "--strategy", "multiple"]
    assert kminilog.ok("assign", *both, "--topic", "t=10", *THREE, "--member", "c3").out == (
        "member  range     multiple\n"
        "c0      3: t 0-2  3: t 0-2\n"
        "c1      3: t 3-5  3: t 3-5\n"
        "c2      2: t 6-7  3: t 6-8\n"
        "c3      2: t 8-9  1: t 9\n"
    )
    assert kminilog.ok("assign", *both, "--topic", "t=4", *THREE).out == (
        "member  range     multiple\n"
        "c0      2: t 0-1  2: t 0-1\n"
        "c1      1: t 2    2: t 2-3\n"
        "c2      1: t 3    0: idle\n"
    )


def test_assign_several_strategies_as_json_are_a_list(kminilog):
    options = ["--strategy", "sticky", "--strategy", "range", "--strategy", "sticky"]
    found = kminilog.ok("assign", *options, "--topic", "t=3", *THREE, "--json").document
    assert [one["strategy"] for one in found["strategies"]] == ["sticky", "range"]
    assert [list(one["assignment"]) for one in found["strategies"]] == [["c0", "c1", "c2"]] * 2


def test_assign_more_members_than_partitions_shows_who_is_idle(kminilog):
    assert kminilog.ok("assign", "--topic", "t=1", *THREE).out.splitlines()[1:] == [
        "c0          1  t 0",
        "c1          0  idle",
        "c2          0  idle",
    ]


def test_assign_member_subscribes_to_its_topics_and_is_named_without_static_id(kminilog):
    options = ["--topic", "t0=2", "--topic", "t1=3", "--member", "a", "--member", "b@i1:t1"]
    assert kminilog.ok("assign", *options).out.splitlines()[1:] == [
        "a           3  t0 0-1, t1 2",
        "b           2  t1 0-1",
    ]


def test_assign_shows_runs_of_several_topics_in_short(kminilog):
    options = ["--strategy", "roundrobin", "--topic", "t0=5", "--topic", "t1=3"]
    members = ["--member", "a", "--member", "b:t1"]
    assert kminilog.ok("assign", *options, *members).out.splitlines()[1:] == [
        "a           6  t0 0-4, t1 1",
        "b           2  t1 0 2",
    ]


def test_assign_topic_that_no_option_names_is_skipped_with_a_warning(kminilog):
    run = kminilog("assign", "--topic", "t=1", "--member", "a:t,u", "--json")
    assert (run.code, numbers(run)) == (0, {"a": [0]})
    assert run.err == "kminilog: a subscribes to u, which no --topic names: skipped\n"


def test_assign_previous_takes_what_json_printed(kminilog, tmp_path):
    sticky = ["assign", "--strategy", "sticky", "--topic", "t=7"]
    before = tmp_path / "before.json"
    before.write_text(kminilog.ok(*sticky, "--member", "a", "--member", "b", "--json").out)
    joined = ["--member", "a", "--member", "b", "--member", "c", "--previous", before]
    run = kminilog.ok(*sticky, *joined, "--json")
    assert numbers(run) == {"a": [0, 2, 4], "b": [1, 3], "c": [5, 6]}
    assert run.document["moved"] == [["t", 5], ["t", 6]]
    assert kminilog.ok(*sticky, *joined).out.splitlines()[-1] == "2 partitions moved"
    left = kminilog.ok(*sticky, "--member", "b", "--previous", before, "--json")
    assert left.document["moved"] == [["t", n] for n in (0, 2, 4, 6)]


def test_assign_cooperative_needs_two_rounds(kminilog, tmp_path):
    cooperative = ["assign", "--strategy", "cooperative-sticky", "--topic", "t=4"]
    rounds = [tmp_path / f"{number}.json" for number in range(3)]
    rounds[0].write_text(kminilog.ok(*cooperative, "--member", "a", "--json").out)
    joined = [*cooperative, "--member", "a", "--member", "b", "--previous"]
    first = kminilog.ok(*joined, rounds[0])
    assert first.out.splitlines()[1:] == [
        "a           2  t 0-1",
        "b           0  idle",
        "0 partitions moved",
        "waiting until their owners give them up: t 2-3",
    ]
    rounds[1].write_text(kminilog.ok(*joined, rounds[0], "--json").out)
    assert json.loads(rounds[1].read_text())["left_out"] == [["t", 2], ["t", 3]]
    second = kminilog.ok(*joined, rounds[1])
    assert second.out.splitlines()[1:3] == ["a           2  t 0-1", "b           2  t 2-3"]


def test_assign_class_of_ones_own_is_found_in_the_current_directory(
    kminilog, tmp_path, monkeypatch
):
    (tmp_path / "first_takes_all.py").write_text(
        "class FirstTakesAll:\n"
        "    def assign(self, partitions, members):\n"
        "        every = [(t, n) for t, count in partitions.items() for n in range(count)]\n"
        "        return {members[0].id: every}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    options = ["--strategy", "first_takes_all.FirstTakesAll", "--topic", "t=3", *THREE, "--json"]
    assert numbers(kminilog.ok("assign", *options)) == {"c0": [0, 1, 2], "c1": [], "c2": []}


WRONG = [
    ("--strategy nope", "'nope'", *ASSIGNORS, "package.module.Class"),
    ("--strategy no_such.Class", "cannot import no_such"),
    ("--member c0", "c0", "there is a member c0 already"),
    ("--member c0@i", "there is a member c0 already"),
    ("--member x@i --member y@i", "x has the static id i already"),
    ("--member @i", "'@i'", "MEMBER@INSTANCE"),
    ("--member x@", "'x@'", "MEMBER@INSTANCE"),
    ("--member ''", "''", "MEMBER:TOPIC"),
    ("--member x:", "'x:'", "MEMBER:TOPIC"),
    ("--member x:t,", "'x:t,'", "MEMBER:TOPIC"),
    ("--topic u", "'u'", "TOPIC=PARTITIONS"),
    ("--topic =3", "'=3'", "TOPIC=PARTITIONS"),
    ("--topic u=many", "'u=many'", "TOPIC=PARTITIONS"),
    ("--topic u=-1", "'u=-1'", "TOPIC=PARTITIONS"),
    ("--topic 'u=²'", "'u=²'", "TOPIC=PARTITIONS"),
    ("--topic u=0", "u=0", "1 to 100000"),
    ("--topic u=100001", "u=100001", "1 to 100000"),
    ("--topic a/b=1", "illegal topic name 'a/b'"),
    ("--topic t=5", "topic t is given twice"),
    ("--previous no-such-file.json", "no-such-file.json", "does not exist"),
]


def test_assign_wrong_option_is_one_line(kminilog, tmp_path):
    assert_refused(kminilog, tmp_path, WRONG, "assign", "--topic", "t=3", *THREE)


@pytest.mark.parametrize("missing", ["--topic", "--member"])
def test_assign_without_topics_or_members_is_one_line(kminilog, missing):
    options = {"--topic": "t=3", "--member": "a"}
    del options[missing]
    assert_one_line(kminilog("assign", *next(iter(options.items()))), 2, missing)


NOT_PREVIOUS = [
    b"",
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b"[]",
    b"{}",
    b'{"assignment": []}',
    b'{"assignment": {"c0": 3}}',
    b'{"assignment": {"c0": ["t0"]}}',
    b'{"assignment": {"c0": [["t"]]}}',
    b'{"assignment": {"c0": [["t", "0"]]}}',
    b'{"assignment": {"c0": [["t", true]]}}',
    b'{"assignment": {"c0": [[0, 0]]}}',
    b'{"assignment": {"c0": {"t": 0}}}',
    b'{"strategies": [{"assignment": {}}]}',
]


def test_assign_previous_that_is_something_else_is_one_line(kminilog, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = []
    for number, content in enumerate(NOT_PREVIOUS):
        Path(f"{number}.json").write_bytes(content)
        rows.append(
            (f"--previous {number}.json", f"{number}.json: not what `assign --json` prints")
        )
    assert_refused(kminilog, tmp_path, rows, "assign", "--topic", "t=3", *THREE)


def test_assign_previous_with_two_owners_is_one_line(kminilog, tmp_path):
    (tmp_path / "previous.json").write_text('{"assignment": {"a": [["t", 0]], "b": [["t", 0]]}}')
    run = kminilog("assign", "--topic", "t=3", *THREE, "--previous", tmp_path / "previous.json")
    assert_one_line(run, 2, "previous.json: t-0 is there more than once")


def test_assign_previous_with_partitions_that_are_gone_is_fine(kminilog, tmp_path):
    (tmp_path / "previous.json").write_text('{"assignment": {"c0": [["t", 9], ["gone", 0]]}}')
    options = ["--strategy", "sticky", "--previous", tmp_path / "previous.json"]
    run = kminilog.ok("assign", "--topic", "t=3", *THREE, *options, "--json")
    assert numbers(run) == {"c0": [0], "c1": [1], "c2": [2]}


# ---- the numbers behind it


def explanation(kminilog, *options):
    return kminilog.ok("assign", *options, "--explain", "--json").document["explanation"]


def test_assign_explain_shows_the_numbers_of_the_documents(kminilog):
    run = kminilog.ok("assign", "--topic", "t=10", *THREE, "--explain")
    assert run.out.splitlines()[5:] == [
        "t: P = 10 partitions, C = 3 members",
        "n = P div C = 3, extra = P mod C = 1",
        "position i begins at n * i + min(i, extra) and gets n, one more if i < extra",
        "position  member  start  count",
        "       0  c0          0      4",
        "       1  c1          4      3",
        "       2  c2          7      3",
        "",
        "members without partitions: none",
    ]
    found = explanation(kminilog, "--topic", "t=10", *THREE)
    assert found["nothing"] == []
    (topic,) = found["topics"]
    shares = topic.pop("shares")
    assert topic == {
        "topic": "t",
        "partitions": 10,
        "members": ["c0", "c1", "c2"],
        "n": 3,
        "extra": 1,
    }
    assert [(each["start"], each["count"]) for each in shares] == [(0, 4), (4, 3), (7, 3)]
    assert list(shares[0]) == ["position", "member", "start", "count"]


def test_assign_explain_multiple_shows_m_and_who_gets_nothing(kminilog):
    options = ["--strategy", "multiple", "--topic", "t=4", *THREE]
    lines = kminilog.ok("assign", *options, "--explain").out.splitlines()
    assert "M = P / C, rounded up = 2" in lines
    assert lines[-3:] == [
        "members without partitions of t: c2",
        "",
        "members without partitions: c2",
    ]
    found = explanation(kminilog, *options)
    assert (found["topics"][0]["M"], found["nothing"]) == (2, ["c2"])


@pytest.mark.parametrize("strategy", ["range", "multiple"])
@pytest.mark.parametrize("partitions", range(9))
def test_assign_explain_agrees_with_the_assignment(kminilog, strategy, partitions):
    options = ["--strategy", strategy, "--topic", f"t={partitions + 1}", "--topic", "u=2"]
    for member in ("c10:t,u", "c9@first:t", "c2", "c1:u", "c0:t", "none:x"):
        options += ["--member", member]
    run = kminilog("assign", *options, "--explain", "--json")
    assert run.code == 0
    given = {member: [] for member in run.document["assignment"]}
    for topic in run.document["explanation"]["topics"]:
        assert [share["position"] for share in topic["shares"]] == [*range(len(topic["members"]))]
        for share in topic["shares"]:
            run_of = range(share["start"], share["start"] + share["count"])
            given[share["member"]] += [[topic["topic"], number] for number in run_of]
    assert given == run.document["assignment"]
    nothing = [member for member, partitions in given.items() if not partitions]
    assert run.document["explanation"]["nothing"] == nothing


@pytest.mark.parametrize("strategy", ["roundrobin", "sticky", "cooperative-sticky"])
def test_assign_explain_of_a_strategy_without_runs_says_so(kminilog, strategy):
    options = ["--strategy", strategy, "--topic", "t=2", *THREE]
    lines = kminilog.ok("assign", *options, "--explain").out.splitlines()
    assert lines[-4:] == [
        f"{strategy} assigns no runs of neighbours, so there is no start and no count",
        "members in order: c0, c1, c2",
        "",
        "members without partitions: c2",
    ]
    assert explanation(kminilog, *options)["topics"][0]["shares"] == []


def test_assign_without_explain_is_as_before(kminilog):
    document = kminilog.ok("assign", "--topic", "t=2", *THREE, "--json").document
    assert list(document) == ["strategy", "assignment", "moved", "left_out"]


def test_assign_explain_takes_one_strategy(kminilog):
    options = ["--strategy", "range", "--strategy", "multiple", "--topic", "t=2", *THREE]
    assert_one_line(kminilog("assign", *options, "--explain"), 2, "--explain takes one --strategy")
