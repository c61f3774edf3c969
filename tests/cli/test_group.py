"""`group list`, `group describe` and `group demo`: tables, JSON, and what is not there."""

from random import Random

import pytest

from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.members import JoinRequest, Membership
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.system import SystemClock
from tests.support.cli.command_line import (
    CommandLine,
    Run,
    assert_one_line,
    assert_refused,
    assert_short_form,
)
from tests.support.damage import files_of
from tests.support.unreadable import CAUSES, without_privileges

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
        assert "0..1" in kminilog(*command).out


def test_group_describe_names_the_members_that_are_idle(orders, coordinator):
    share = coordinator.sync("readers", join(coordinator))
    assert share
    first, second = share.membership, join(coordinator)
    assert "idle" not in orders.ok("group", "describe", "readers").out
    coordinator.sync("readers", join(coordinator, member_id=first.member_id))
    surplus = max(first.member_id, second.member_id)
    run = orders.ok("group", "describe", "readers")
    last_line = run.out.splitlines()[-1]
    assert last_line == f"idle, because there are too few partitions: {surplus}"
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
def test_groups_that_cannot_be_listed_are_named(cause, tmp_path):
    directory = tmp_path / "log"
    kminilog = CommandLine(directory)
    kminilog.ok("topic", "create", "orders", "--partitions", 1)
    page = tmp_path / "page.html"
    kminilog.ok("ls", "--html", page)
    assert "groups: " not in page.read_text()
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
    assert lines[0] == "How a group shares out 4 partitions of orders, second by second (range)"
    shown = [line.replace("→", "").split() for line in lines]
    assert ["0", "A", "joins", "Stable", "1", *"AAAA", "0"] in shown
    assert ["29", "Stable", "5", *"CCCC", "8"] in shown
    assert "In all, 8 messages were read twice." in lines[lines.index("── step 20 of 20") + 1]
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
    other = document["other_group"]
    assert (other["group"], other["member"], other["is_untouched"]) == ("archive", "X", True)
    assert other["read_by_partition"] == dict.fromkeys("0123", 38)


def test_group_demo_with_few_partitions_shows_who_is_idle(kminilog):
    document = kminilog.ok("group", "demo", "--partitions", 1, "--json").document
    assert document["seconds"][13]["idle"] == ["B", "C"]


def test_group_demo_with_an_unknown_strategy_is_one_line(kminilog):
    assert_one_line(kminilog("group", "demo", "--strategy", "rang"), 2, "range, multiple")


# ---- `group reset` and `group delete`: shown first, done with --yes, refused while it has members


ORDERS_0 = TopicPartition("orders", 0)
END = ["--config", "consumer.timeout.ms=300"]
RESET = ["reset", "--to", "earliest"]


@pytest.fixture
def readers(orders: CommandLine) -> Coordinator:
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
    orders, readers, target, offset, again, skipped
):
    options = ["group", "reset", "readers", "--to", target]
    shown = orders.ok(*options, "--json").document
    assert readers.committed("readers") == {ORDERS_0: 12}
    done = orders.ok(*options, "--yes", "--json").document
    assert readers.committed("readers") == {ORDERS_0: offset}
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


def test_group_reset_text_shows_the_move_and_says_that_nothing_was_changed(orders, readers):
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


def test_group_reset_of_a_log_that_has_lost_its_beginning(orders, readers):
    readers.commit("readers", {ORDERS_0: 2})
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


def test_group_reset_to_an_offset_above_the_log_end_is_the_answer_no(orders, readers):
    run = orders("group", "reset", "readers", "--to", 21, "--yes")
    assert_one_line(run, 1, "orders-0: nothing was changed: offset 21 is out of range",
                    "including, 20; the log end itself, 20, is possible, too")  # fmt: skip
    assert readers.committed("readers") == {ORDERS_0: 12}


def test_group_reset_of_a_committed_offset_above_the_log_end(orders, readers):
    readers.commit("readers", {ORDERS_0: 500})
    (moved,) = orders.ok("group", "reset", "readers", "--to", 15, "--json").document["partitions"]
    assert (moved["again_count"], moved["skipped_count"]) == (5, 0)


def test_group_reset_takes_the_partitions_that_are_named(orders, readers):
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
    assert readers.committed("readers") == {ORDERS_0: 12, TopicPartition("bills", 1): 2}


def test_group_reset_makes_the_group_that_the_hint_of_consume_names(orders, readers):
    refused = orders("consume", "orders", "--group", "new", "--offset", 5)
    assert_one_line(refused, 2, "`kminilog group reset new --topic orders --to N --yes`")
    named = orders("consume", "orders", "--group", "new", "--partition", 0, "--tail", 5)
    assert_one_line(named, 2, "`kminilog group reset new --topic orders:0 --to N --yes`")
    reset = ["group", "reset", "new", "--topic", "orders", "--to", 5]
    assert "nothing was changed" in orders.ok(*reset).out
    assert readers.groups() == ["readers"]
    assert "reads none again, and skips 5 messages" in orders.ok(*reset, "--yes").out
    assert readers.committed("new") == {ORDERS_0: 5}
    read = orders("consume", "orders", "--group", "new", *END, "--json").records
    assert [record["offset"] for record in read] == list(range(5, 20))


def test_group_reset_leaves_out_topics_that_are_gone_and_says_so(orders, readers):
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
    assert readers.committed("readers") == {ORDERS_0: 20, gone: 7}
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
def test_group_with_members_is_not_changed(orders, readers, command, yes):
    orders.ok("topic", "create", "other", "--partitions", 1)
    request = JoinRequest(("other",), session_timeout_ms=3_600_000)
    member = readers.join("readers", request)
    before = files_of(orders.log_dir / ".groups")
    run = orders("group", command[0], "readers", *command[1:], *yes)
    assert_one_line(run, 2, "group readers has members (1)", "nothing was changed; end them",
                    "until their sessions are over: at most 3600 s")  # fmt: skip
    assert files_of(orders.log_dir / ".groups") == before
    readers.leave("readers", member)
    assert orders("group", command[0], "readers", *command[1:], *yes).code == 0


def test_group_reset_and_delete_of_a_group_whose_members_have_died(orders, readers):
    readers.join("readers", JoinRequest(("orders",), session_timeout_ms=1))
    SystemClock().sleep_ms(2)
    orders.ok("group", "reset", "readers", "--to", 3, "--yes")
    assert readers.committed("readers") == {ORDERS_0: 3}
    readers.join("readers", JoinRequest(("orders",), session_timeout_ms=1))
    SystemClock().sleep_ms(2)
    orders.ok("group", "delete", "readers", "--yes")
    assert readers.groups() == []


def test_group_delete_shows_first_and_deletes_with_yes(orders, readers):
    *table, _, told = orders.ok("group", "delete", "readers").out.splitlines()
    assert [line.split() for line in table] == [["partition", "committed"], ["orders-0", "12"]]
    assert told == "nothing was deleted: --yes deletes group readers with 1 committed offset"
    assert orders.ok("group", "delete", "readers", "--json").document == {
        "group": "readers",
        "deleted": False,
        "partitions": [{"topic": "orders", "partition": 0, "committed": 12}],
    }
    assert readers.groups() == ["readers"]
    run = orders.ok("group", "delete", "readers", "--yes")
    assert run.out == "deleted group readers with 1 committed offset\n"
    assert readers.groups() == []
    assert orders.ok("group", "list").out == "no groups\n"
    options = ["--group", "readers", "--offset", "latest", *END]
    assert orders.ok("consume", "orders", *options).out == ""  # it begins anew


WRONG = [
    ("reset readers", "--to"),
    ("reset readers --to ''", "''"),
    ("reset readers --to soon", "'soon'"),
    ("reset readers --to -0", "'-0'"),
    ("reset readers --to --3", "'--3'"),
    ("reset readers --to +3", "'+3'"),
    ("reset readers --to '٣'", "'٣'"),
    ("reset readers --to 9223372036854775808", "is no offset"),
    ("reset readers --to earliest --topic ''", "like orders:0"),
    ("reset readers --to earliest --topic :0", "like orders:0"),
    ("reset readers --to earliest --topic orders:", "like orders:0"),
    ("reset readers --to earliest --topic orders:x", "like orders:0"),
    ("reset readers --to earliest --topic orders:1", "[0, 0]"),
    ("reset readers --to earliest --topic 'größe'", "größe"),
    ("reset readers --to 3 --topic wide", "--topic T:P"),
    ("reset nobody --to earliest", "Group nobody doesn't exist"),
    ("reset a/b --to earliest", "illegal group id"),
    ("reset '' --to earliest", "illegal group id"),
    ("delete", "GROUP"),
    ("delete nobody --yes", "Group nobody doesn't exist"),
    ("delete ../orders --yes", "illegal group id"),
]


@pytest.mark.usefixtures("readers")
def test_group_changes_bad_input_is_one_line_and_changes_nothing(orders):
    orders.ok("topic", "create", "wide", "--partitions", 2)
    assert_refused(orders, orders.log_dir.parent, WRONG, "group")


@pytest.mark.parametrize("command", [RESET, ["delete"]])
def test_group_changes_of_a_broken_file_or_without_a_log_dir_is_one_line(
    kminilog, orders, readers, command
):
    (orders.log_dir / ".groups" / "readers.json").write_text("{")
    run = orders("group", command[0], "readers", *command[1:], "--yes")
    assert_one_line(run, 2, "readers.json", "mend it")
    kminilog.log_dir = kminilog.log_dir / "missing"
    run = kminilog("group", command[0], "readers", *command[1:], "--yes")
    assert_one_line(run, 2, "no such directory")
