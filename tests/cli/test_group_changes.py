"""`group reset` and `group delete`: shown first, done with --yes, refused while it has members."""

from random import Random

import pytest

from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.members import JoinRequest
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir import LogDir
from kminilog.system import SystemClock
from tests.cli.command_line import CommandLine, Run, assert_one_line
from tests.damage import files_of

ORDERS_0 = TopicPartition("orders", 0)
END = ["--config", "consumer.timeout.ms=300"]
RESET = ["reset", "--to", "earliest"]


@pytest.fixture
def coordinator(orders: CommandLine) -> Coordinator:
    """Of the log dir with the topic `orders`; its group `readers` has committed offset 12."""
    topic_id = LogDir(orders.log_dir).topic_id
    found = Coordinator(orders.log_dir, dict, topic_id, clock=SystemClock(), chance=Random(0))
    found.commit("readers", {ORDERS_0: 12})
    return found


def new_offsets(run: Run) -> dict[str, int]:
    fields = run.document["partitions"]
    return {f"{one['topic']}-{one['partition']}": one["new_offset"] for one in fields}


@pytest.mark.parametrize(
    ("target", "offset", "again", "skipped"),
    [
        ("earliest", 0, 12, 0),
        ("latest", 20, 0, 8),
        ("0", 0, 12, 0),
        ("7", 7, 5, 0),
        ("20", 20, 0, 8),
        ("-1", 19, 0, 7),
        ("-15", 5, 7, 0),
        ("-9999999999999999999999", 0, 12, 0),
    ],
)
def test_group_reset_moves_the_offset_and_counts_what_is_read_again_or_skipped(
    orders, coordinator, target, offset, again, skipped
):
    options = ["group", "reset", "readers", "--to", target]
    shown = orders.ok(*options, "--json").document
    assert coordinator.committed("readers") == {ORDERS_0: 12}
    done = orders.ok(*options, "--yes", "--json").document
    assert coordinator.committed("readers") == {ORDERS_0: offset}
    assert (shown["changed"], done["changed"]) == (False, True)
    assert shown["partitions"] == done["partitions"]
    assert done["partitions"] == [
        {
            "topic": "orders",
            "partition": 0,
            "committed": 12,
            "new_offset": offset,
            "log_start_offset": 0,
            "log_end_offset": 20,
            "again_count": again,
            "skipped_count": skipped,
        }
    ]
    read = orders("consume", "orders", "--group", "readers", *END, "--json").records
    assert [record["offset"] for record in read] == list(range(offset, 20))


def test_group_reset_text_shows_the_move_and_says_that_nothing_was_changed(orders, coordinator):
    *table, verdict, told = orders.ok("group", "reset", "readers", "--to", -3).out.splitlines()
    assert [line.split() for line in table] == [
        ["partition", "committed", "new", "offset", "log", "start", "log", "end"],
        ["orders-0", "12", "17", "0", "20"],
        [],
    ]
    assert verdict == "group readers would read none again, and skip 5 messages"
    assert told == "nothing was changed: --yes moves the offsets"
    run = orders.ok("group", "reset", "readers", "--to", 11, "--yes")
    last_line = run.out.splitlines()[-1]
    assert last_line == "group readers reads 1 message again, and skips none"


def test_group_reset_of_a_log_that_has_lost_its_beginning(orders, coordinator):
    coordinator.commit("readers", {ORDERS_0: 2})
    orders.ok("topic", "alter", "orders", "--config", "retention.bytes=200")
    orders.ok("retain")
    start = orders.ok("topic", "describe", "orders", "--json").document["partitions"][0]
    first = start["log_start_offset"]
    assert first > 2
    for target, offset, skipped in (("earliest", first, 0), ("latest", 20, 20 - first)):
        run = orders.ok("group", "reset", "readers", "--to", target, "--json")
        (moved,) = run.document["partitions"]
        assert (moved["new_offset"], moved["skipped_count"]) == (offset, skipped)
        assert moved["again_count"] == 0
    assert new_offsets(orders.ok("group", "reset", "readers", "--to", -99, "--json")) == {
        "orders-0": first
    }
    assert_one_line(orders("group", "reset", "readers", "--to", 2, "--yes"), 1, "out of range")


def test_group_reset_to_an_offset_above_the_log_end_is_the_answer_no(orders, coordinator):
    run = orders("group", "reset", "readers", "--to", 21, "--yes")
    assert_one_line(run, 1, "orders-0: nothing was changed: offset 21 is out of range",
                    "including, 20; the log end itself, 20, is possible, too")  # fmt: skip
    assert coordinator.committed("readers") == {ORDERS_0: 12}


def test_group_reset_of_a_committed_offset_above_the_log_end(orders, coordinator):
    coordinator.commit("readers", {ORDERS_0: 500})
    (moved,) = orders.ok("group", "reset", "readers", "--to", 15, "--json").document["partitions"]
    assert (moved["again_count"], moved["skipped_count"]) == (5, 0)


def test_group_reset_takes_the_partitions_that_are_named(orders, coordinator):
    orders.ok("topic", "create", "bills", "--partitions", 3)
    for partition in (1, 2):
        orders.ok("produce", "bills", "--partition", partition, stdin=b"x\n" * 3)

    def moved(*names: str, target: str = "latest") -> dict[str, int]:
        options = [word for name in names for word in ("--topic", name)]
        command = ["group", "reset", "readers", "--to", target, *options, "--json"]
        return new_offsets(orders.ok(*command))

    assert moved() == {"orders-0": 20}
    assert moved("bills") == {"bills-0": 0, "bills-1": 3, "bills-2": 3}
    assert moved("bills:2", target="2") == {"bills-2": 2}
    assert moved("bills:1", "orders", "bills:1") == {"bills-1": 3, "orders-0": 20}
    run = orders.ok("group", "reset", "readers", "--topic", "bills:1", "--to", 2, "--json")
    (new,) = run.document["partitions"]
    assert (new["committed"], new["again_count"], new["skipped_count"]) == (None, 0, 2)
    orders.ok("group", "reset", "readers", "--topic", "bills:1", "--to", 2, "--yes")
    assert coordinator.committed("readers") == {ORDERS_0: 12, TopicPartition("bills", 1): 2}


def test_group_reset_makes_the_group_that_the_hint_of_consume_names(orders, coordinator):
    refused = orders("consume", "orders", "--group", "new", "--offset", 5)
    assert_one_line(refused, 2, "`kminilog group reset new --topic orders --to N --yes`")
    named = orders("consume", "orders", "--group", "new", "--partition", 0, "--tail", 5)
    assert_one_line(named, 2, "`kminilog group reset new --topic orders:0 --to N --yes`")
    reset = ["group", "reset", "new", "--topic", "orders", "--to", 5]
    assert "nothing was changed" in orders.ok(*reset).out
    assert coordinator.groups() == ["readers"]
    assert "reads none again, and skips 5 messages" in orders.ok(*reset, "--yes").out
    assert coordinator.committed("new") == {ORDERS_0: 5}
    read = orders("consume", "orders", "--group", "new", *END, "--json").records
    assert [record["offset"] for record in read] == list(range(5, 20))


def test_group_reset_leaves_out_topics_that_are_gone_and_says_so(orders, coordinator):
    gone = TopicPartition("gone", 4)
    earlier = Coordinator(
        orders.log_dir, dict, lambda topic: None, clock=SystemClock(), chance=Random(0)
    )
    earlier.commit("readers", {gone: 7})
    run = orders("group", "reset", "readers", "--to", "latest", "--yes")
    assert run.code == 0
    assert run.err == (
        "kminilog: gone-4 does not exist any more: its committed offset stays as it is\n"
    )
    assert coordinator.committed("readers") == {ORDERS_0: 20, gone: 7}
    earlier.commit("others", {gone: 7})
    run = orders("group", "reset", "others", "--to", "latest", "--yes")
    assert (run.code, run.out) == (2, "")
    assert "group others has read nothing that is there: give --topic" in run.err


def test_group_reset_of_a_log_with_gaps_finds_its_end_if_gaps_are_allowed(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    log = kminilog.log_dir / "t-0" / ("0" * 20 + ".log")
    log.write_bytes(b"".join(encode(KAFKA, offset, None, b"v") for offset in (0, 1, 5, 6)))
    kminilog("consume", "t", "--group", "g", "--max-messages", 1, "--allow-gaps")
    reset = ["group", "reset", "g", "--to", "latest", "--json"]
    assert new_offsets(kminilog.ok(*reset)) == {"t-0": 2}
    assert new_offsets(kminilog.ok(*reset, "--allow-gaps")) == {"t-0": 7}


@pytest.mark.parametrize("command", [RESET, [*RESET, "--topic", "orders"], ["delete"]])
@pytest.mark.parametrize("yes", [[], ["--yes"]])
def test_group_with_members_is_not_changed(orders, coordinator, command, yes):
    orders.ok("topic", "create", "other", "--partitions", 1)
    request = JoinRequest(("other",), session_timeout_ms=3_600_000)
    member = coordinator.join("readers", request)
    before = files_of(orders.log_dir / ".groups")
    run = orders("group", command[0], "readers", *command[1:], *yes)
    assert_one_line(run, 2, "group readers has members (1)", "nothing was changed; end them",
                    "until their sessions are over: at most 3600 s")  # fmt: skip
    assert files_of(orders.log_dir / ".groups") == before
    coordinator.leave("readers", member)
    assert orders("group", command[0], "readers", *command[1:], *yes).code == 0


def test_group_reset_and_delete_of_a_group_whose_members_have_died(orders, coordinator):
    coordinator.join("readers", JoinRequest(("orders",), session_timeout_ms=1))
    SystemClock().sleep_ms(2)
    orders.ok("group", "reset", "readers", "--to", 3, "--yes")
    assert coordinator.committed("readers") == {ORDERS_0: 3}
    coordinator.join("readers", JoinRequest(("orders",), session_timeout_ms=1))
    SystemClock().sleep_ms(2)
    orders.ok("group", "delete", "readers", "--yes")
    assert coordinator.groups() == []


def test_group_delete_shows_first_and_deletes_with_yes(orders, coordinator):
    *table, _, told = orders.ok("group", "delete", "readers").out.splitlines()
    assert [line.split() for line in table] == [["partition", "committed"], ["orders-0", "12"]]
    assert told == "nothing was deleted: --yes deletes group readers with 1 committed offset"
    assert orders.ok("group", "delete", "readers", "--json").document == {
        "group": "readers",
        "deleted": False,
        "partitions": [{"topic": "orders", "partition": 0, "committed": 12}],
    }
    assert coordinator.groups() == ["readers"]
    run = orders.ok("group", "delete", "readers", "--yes")
    assert run.out == "deleted group readers with 1 committed offset\n"
    assert coordinator.groups() == []
    assert orders.ok("group", "list").out == "no groups\n"
    options = ["--group", "readers", "--offset", "latest", *END]
    assert orders.ok("consume", "orders", *options).out == ""  # it begins anew


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["reset", "readers"], "--to"),
        (["reset", "readers", "--to", ""], "''"),
        (["reset", "readers", "--to", "soon"], "'soon'"),
        (["reset", "readers", "--to", "-0"], "'-0'"),
        (["reset", "readers", "--to", "--3"], "'--3'"),
        (["reset", "readers", "--to", "+3"], "'+3'"),
        (["reset", "readers", "--to", "٣"], "'٣'"),
        (["reset", "readers", "--to", str(2**63)], "is no offset"),
        (["reset", "readers", "--to", "earliest", "--topic", ""], "like orders:0"),
        (["reset", "readers", "--to", "earliest", "--topic", ":0"], "like orders:0"),
        (["reset", "readers", "--to", "earliest", "--topic", "orders:"], "like orders:0"),
        (["reset", "readers", "--to", "earliest", "--topic", "orders:x"], "like orders:0"),
        (["reset", "readers", "--to", "earliest", "--topic", "orders:1"], "[0, 0]"),
        (["reset", "readers", "--to", "earliest", "--topic", "größe"], "größe"),
        (["reset", "readers", "--to", "3", "--topic", "wide"], "--topic T:P"),
        (["reset", "nobody", "--to", "earliest"], "Group nobody doesn't exist"),
        (["reset", "a/b", "--to", "earliest"], "illegal group id"),
        (["reset", "", "--to", "earliest"], "illegal group id"),
        (["delete"], "GROUP"),
        (["delete", "nobody", "--yes"], "Group nobody doesn't exist"),
        (["delete", "../orders", "--yes"], "illegal group id"),
    ],
)
def test_group_changes_bad_input_is_one_line_and_changes_nothing(
    orders, coordinator, arguments, part
):
    orders.ok("topic", "create", "wide", "--partitions", 2)
    before = files_of(orders.log_dir / ".groups")
    assert_one_line(orders("group", *arguments), 2, part)
    assert files_of(orders.log_dir / ".groups") == before


@pytest.mark.parametrize("command", [RESET, ["delete"]])
def test_group_changes_of_a_broken_file_or_without_a_log_dir_is_one_line(
    kminilog, orders, coordinator, command
):
    (orders.log_dir / ".groups" / "readers.json").write_text("{")
    run = orders("group", command[0], "readers", *command[1:], "--yes")
    assert_one_line(run, 2, "readers.json", "mend it")
    kminilog.log_dir = kminilog.log_dir / "missing"
    run = kminilog("group", command[0], "readers", *command[1:], "--yes")
    assert_one_line(run, 2, "no such directory")
