"""`group list`, `group describe` and `group demo`: tables, JSON, and what is not there."""

import os
from random import Random

import pytest

from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.members import JoinRequest, Membership
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.system import SystemClock
from tests.cli.command_line import CommandLine, assert_one_line, assert_short_form
from tests.unreadable import CAUSES, directory_for_all, without_privileges

HOUR_MS = 3_600_000


@pytest.fixture
def coordinator(orders: CommandLine) -> Coordinator:
    """Of the log dir with the topic `orders`: one partition, 20 messages."""
    return Coordinator(
        orders.log_dir,
        lambda: {"orders": 1},
        LogDir(orders.log_dir).topic_id,
        clock=SystemClock(),
        chance=Random(0),
    )


def join(coordinator: Coordinator, **more: object) -> Membership:
    request = JoinRequest(("orders",), session_timeout_ms=HOUR_MS, client_id="shop")
    return coordinator.join("readers", request._replace(**more))


def test_group_list_without_groups_says_so(orders):
    assert orders.ok("group", "list").out == "no groups\n"
    assert orders.ok("group", "list", "--json").document == []


def test_group_list_shows_each_group(orders, coordinator):
    join(coordinator)
    coordinator.commit("archive", {TopicPartition("orders", 0): 5})
    assert [line.split() for line in orders.ok("group", "list").out.splitlines()] == [
        ["group", "state", "generation", "members", "strategy"],
        ["archive", "Empty", "0", "0", "-"],
        ["readers", "Stable", "1", "1", "range"],
    ]
    assert orders.ok("group", "list", "--json").document == [
        {"group": "archive", "state": "Empty", "generation": 0, "strategy": None, "members": 0},
        {"group": "readers", "state": "Stable", "generation": 1, "strategy": "range", "members": 1},
    ]


def test_group_describe_shows_members_offsets_and_lag(orders, coordinator):
    share = coordinator.sync("readers", join(coordinator, instance_id="till"))
    assert share
    coordinator.commit("readers", {TopicPartition("orders", 0): 17}, share.membership)
    member = share.membership.member_id
    title, _, headings, row, _, *partitions = orders.ok(
        "group", "describe", "readers"
    ).out.splitlines()
    assert title == "readers: Stable, generation 1, shared out by range"
    assert headings.split() == ["member", "static", "id", "topics", "partitions", "heard", "of"]
    assert row.split()[:4] == [member, "till", "orders", "1"]
    assert [line.split() for line in partitions] == [
        ["partition", "member", "committed", "log", "end", "lag"],
        ["orders-0", member, "17", "20", "3"],
    ]
    document = orders.ok("group", "describe", "readers", "--json").document
    assert 0 <= document["members"][0].pop("heard_ms_ago") < HOUR_MS
    assert document == {
        "group": "readers",
        "state": "Stable",
        "generation": 1,
        "strategy": "range",
        "members": [
            {
                "id": member,
                "instance_id": "till",
                "topics": ["orders"],
                "partitions": [["orders", 0]],
                "idle": False,
            }
        ],
        "partitions": [
            {
                "topic": "orders",
                "partition": 0,
                "member": member,
                "committed": 17,
                "log_end_offset": 20,
                "lag": 3,
                "above_log_end": False,
            }
        ],
        "idle": [],
    }


def test_group_describe_committed_above_the_log_end_is_named_and_has_no_lag(orders, coordinator):
    coordinator.commit("readers", {TopicPartition("orders", 0): 1099511627816})
    _, _, _, row, line = orders.ok("group", "describe", "readers").out.splitlines()
    assert row.split() == ["orders-0", "-", "1099511627816", "20", "-"]
    assert line.startswith("orders-0: committed 1099511627816 is above the log end 20: ")
    (partition,) = orders.ok("group", "describe", "readers", "--json").document["partitions"]
    assert (partition["lag"], partition["above_log_end"]) == (None, True)


def test_group_describe_of_a_log_with_gaps_has_lag_if_gaps_are_allowed(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    log = kminilog.log_dir / "t-0" / ("0" * 20 + ".log")
    log.write_bytes(b"".join(encode(KAFKA, offset, None, b"v") for offset in (0, 1, 5, 6)))
    kminilog("consume", "t", "--group", "g", "--max-messages", 3, "--allow-gaps")
    (partition,) = kminilog.ok("group", "describe", "g", "--json").document["partitions"]
    assert (partition["log_end_offset"], partition["above_log_end"]) == (2, True)
    run = kminilog.ok("group", "describe", "g", "--json", "--allow-gaps")
    (partition,) = run.document["partitions"]
    assert (partition["log_end_offset"], partition["lag"]) == (7, 1)
    assert partition["above_log_end"] is False
    for command in (["ls", "t"], ["topic", "describe", "t"]):
        assert "0..6" in kminilog.ok(*command, "--allow-gaps").out
        assert "0..1" in kminilog.ok(*command).out


def test_group_describe_names_the_members_that_are_idle(orders, coordinator):
    share = coordinator.sync("readers", join(coordinator))
    assert share
    first, second = share.membership, join(coordinator)
    assert "idle" not in orders.ok("group", "describe", "readers").out
    coordinator.sync("readers", join(coordinator, member_id=first.member_id))
    surplus = max(first.member_id, second.member_id)
    run = orders.ok("group", "describe", "readers")
    last_line = run.out.splitlines()[-1]
    assert last_line == f"idle, because there are not partitions enough: {surplus}"
    document = orders.ok("group", "describe", "readers", "--json").document
    assert document["idle"] == [surplus]
    assert {m["id"]: m["idle"] for m in document["members"]}[surplus] is True


def test_group_describe_lists_members_in_javas_order_of_ids(orders, coordinator):
    for client_id in (chr(0xE000), chr(0x1F600)):  # in the order of their code points
        join(coordinator, topics=("missing",), client_id=client_id)
    document = orders.ok("group", "describe", "readers", "--json").document
    assert [member["id"][0] for member in document["members"]] == [chr(0x1F600), chr(0xE000)]


def test_group_describe_without_a_committed_offset_has_no_lag(orders, coordinator):
    join(coordinator)
    assert orders.ok("group", "describe", "readers").out.splitlines()[-1].split()[2:] == (
        ["-", "20", "-"]
    )
    (partition,) = orders.ok("group", "describe", "readers", "--json").document["partitions"]
    assert (partition["committed"], partition["lag"]) == (None, None)


def test_group_describe_of_a_topic_that_is_gone_shows_what_was_committed(orders, coordinator):
    coordinator.commit("readers", {TopicPartition("orders", 0): 5})
    with LogDirWriter.open(orders.log_dir) as writer:
        writer.delete_topic("orders")
    (partition,) = orders.ok("group", "describe", "readers", "--json").document["partitions"]
    assert (partition["committed"], partition["log_end_offset"], partition["lag"]) == (
        (5, None, None)
    )
    assert orders.ok("group", "describe", "readers").out.splitlines()[-1].split() == (
        ["orders-0", "-", "5", "-", "-"]
    )


@pytest.mark.parametrize("command", ["describe", "reset"])
def test_group_leaves_out_offsets_of_a_topic_that_was_created_again(orders, coordinator, command):
    coordinator.commit("readers", {TopicPartition("orders", 0): 5})
    with LogDirWriter.open(orders.log_dir) as writer:
        writer.delete_topic("orders")
    orders.ok("topic", "create", "orders", "--partitions", 1)
    if command == "describe":
        run = orders("group", "describe", "readers", "--json")
        assert (run.code, run.document["partitions"]) == (0, [])
        assert run.err == (
            "kminilog: orders-0: the committed offset 5 does not count any more: topic orders was "
            "deleted and created again\n"
        )
        return
    options = ["--topic", "orders", "--to", "earliest", "--yes", "--json"]
    (move,) = orders.ok("group", "reset", "readers", *options).document["partitions"]
    assert (move["committed"], move["new_offset"]) == (None, 0)
    assert orders.ok("group", "describe", "readers", "--json").document["partitions"][0]["lag"] == 0


def test_group_describe_leaves_out_members_that_died(orders, coordinator):
    request = JoinRequest(("orders",), session_timeout_ms=1)
    coordinator.join("readers", request)
    SystemClock().sleep_ms(2)
    run = orders.ok("group", "describe", "readers")
    assert run.out == "readers: Empty, generation 2\n"


def test_group_describe_while_a_rebalance_is_prepared_shows_topics_nobody_owns(orders, coordinator):
    share = coordinator.sync("readers", join(coordinator))
    assert share
    orders.ok("topic", "create", "bills", "--partitions", 1)
    join(coordinator, topics=("bills",))
    document = orders.ok("group", "describe", "readers", "--json").document
    assert document["state"] == "PreparingRebalance"
    assert [(p["topic"], p["member"]) for p in document["partitions"]] == [
        ("bills", None),
        ("orders", share.membership.member_id),
    ]


@pytest.mark.parametrize(
    ("group", "part"),
    [("nobody", "Group nobody doesn't exist"), ("a/b", "illegal group id 'a/b'")],
)
def test_group_describe_of_no_group_is_one_line(orders, group, part):
    assert_one_line(orders("group", "describe", group), 2, part)


def test_group_describe_of_a_broken_file_is_one_line(orders, coordinator):
    join(coordinator)
    (orders.log_dir / ".groups" / "readers.json").write_text("{")
    assert_one_line(orders("group", "describe", "readers"), 2, "readers.json", "mend it")
    coordinator.commit("others", {TopicPartition("orders", 0): 5})
    run = orders("group", "list")
    assert run.code == 2
    assert "readers.json" in run.err
    assert "others" in run.out


@pytest.mark.parametrize("cause", CAUSES)
def test_groups_that_cannot_be_listed_are_named(cause):
    with directory_for_all() as place:
        directory = place / "log"
        kminilog = CommandLine(directory)
        kminilog.ok("topic", "create", "orders", "--partitions", 1)
        page = place / "page.html"
        kminilog.ok("ls", "--html", page)  # its modules and style sheets are read now
        assert "groups: " not in page.read_text()
        os.chmod(place, 0o777)  # for the page
        CAUSES[cause](directory / ".groups")
        with without_privileges():
            assert_one_line(kminilog("group", "list"), 2, f"{directory / '.groups'}: ")
            told = f"groups: {directory / '.groups'}: "
            run = kminilog("ls", "--html", page)
        assert (run.code, run.err.count("\n")) == (2, 1)
        assert run.err.startswith(f"kminilog: {told}")
        assert told in page.read_text()


def test_group_list_without_a_log_dir_is_one_line(kminilog):
    assert_one_line(kminilog("group", "list"), 2, "no such directory")


def test_group_demo_says_who_reads_what(kminilog):
    lines = kminilog.ok("group", "demo").out.splitlines()
    assert lines[0] == "A rebalance, second by second: 4 partitions of orders, shared out by range"
    shown = [line.replace("→", "").split() for line in lines]
    assert ["0", "A", "joins", "Stable", "1", *"AAAA", "0"] in shown
    assert ["29", "Stable", "5", *"CCCC", "8"] in shown
    assert "In all, 8 messages were read twice." in lines[lines.index("── step 19 of 19") + 1]
    assert "The group answers: A-d82c07cd is no member" in " ".join(" ".join(lines).split())
    assert not kminilog.log_dir.exists()


def test_group_demo_is_the_step_through_of_a_rebalance_in_short(kminilog):
    options = ["--strategy", "sticky", "--partitions", 3, "--seed", 7]
    assert_short_form(kminilog, kminilog.ok("group", "demo", *options).out.splitlines(), options)


@pytest.mark.parametrize("partitions", [5, 6, 20])
def test_group_demo_with_many_partitions_fits_a_terminal(kminilog, partitions):
    lines = kminilog.ok("group", "demo", "--partitions", partitions).out.splitlines()
    start = max(n for n, line in enumerate(lines) if line.startswith("    second "))
    assert max(map(len, lines[start:-1])) <= 80
    if partitions == 20:
        assert ["13", "Stable", "3", "A" * 7 + "B" * 7 + "C" * 6, "0"] in map(str.split, lines)


def test_group_demo_leaves_out_seconds_in_which_nothing_changes(kminilog):
    lines = kminilog.ok("group", "demo").out.splitlines()
    table = lines[max(n for n, line in enumerate(lines) if line.startswith("    second ")) + 1 :]
    seconds = {line.split()[0] for line in table if line.startswith("  ")}
    assert {"0", "4", "9", "14", "20", "32"} <= seconds
    assert not {"1", "2", "3", "8", "25", "30"} & seconds


def test_group_demo_json_has_every_second(kminilog):
    document = kminilog.ok("group", "demo", "--strategy", "multiple", "--json").document
    assert (document["strategy"], document["read_again"]) == ("multiple", 8)
    assert [second["second"] for second in document["seconds"]] == list(range(38))
    assert document["seconds"][13] == {
        "second": 13,
        "event": None,
        "state": "Stable",
        "generation": 3,
        "reader_by_partition": {"0": "A", "1": "A", "2": "B", "3": "B"},
        "idle": ["C"],
        "read_again": 0,
        "error": None,
    }


def test_group_demo_with_few_partitions_shows_who_is_idle(kminilog):
    document = kminilog.ok("group", "demo", "--partitions", 1, "--json").document
    assert document["seconds"][13]["idle"] == ["B", "C"]


def test_group_demo_with_an_unknown_strategy_is_one_line(kminilog):
    assert_one_line(kminilog("group", "demo", "--strategy", "rang"), 2, "range, multiple")
