"""`consume`: from an offset on, over partitions and topics, until it is to end."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from kminilog.cli.consume import command as consume
from kminilog.clock import ManualClock
from kminilog.consumer.coordinator import Coordinator
from kminilog.format.dialect import DIALECTS
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import new_topic_id
from tests.support.cli.command_line import CommandLine, assert_one_line, assert_refused
from tests.support.damage import flip_byte, message_positions
from tests.support.storage.losses import AT_END, AT_START, first_segment

END = ["--config", "consumer.timeout.ms=0"]


def test_consume_text_is_the_value_or_key_tab_value(orders):
    assert orders.ok("consume", "orders", "--max-messages", 2).out == "value0\nvalue1\n"
    run = orders.ok("consume", "orders", "--max-messages", 1, "--print-key")
    assert run.out == "key0\tvalue0\n"


def test_consume_json_has_the_fields_of_the_contract(orders):
    records = orders.ok("consume", "orders", *END, "--json").records
    assert records[7] == {
        "topic": "orders",
        "partition": 0,
        "offset": 7,
        "key": "key7",
        "value": "value7",
    }
    assert [record["offset"] for record in records] == list(range(20))


def test_consume_bytes_that_are_no_text_are_base64(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    options = ["--key-separator", ":", "--null-value", "-"]
    kminilog.ok("produce", "t", *options, stdin=b"\xff:\xfe\nx\n:-\n")
    fields = [
        {name: value for name, value in record.items() if name.startswith(("key", "value"))}
        for record in kminilog.ok("consume", "t", *END, "--json").records
    ]
    assert fields == [
        {"key_base64": "/w==", "value_base64": "/g=="},
        {"key": None, "value": "x"},
        {"key": "", "value": None},
    ]
    run = kminilog.ok("consume", "t", *END, "--print-key")
    assert run.out_bytes == b"\xff\t\xfe\nnull\tx\n\tnull\n"


@pytest.mark.parametrize(
    ("start", "offsets"),
    [("earliest", range(20)), ("17", range(17, 20)), ("20", []), ("latest", [])],
)
def test_consume_starts_at_the_offset(orders, start, offsets):
    records = orders.ok("consume", "orders", "--offset", start, *END, "--json").records
    assert [record["offset"] for record in records] == list(offsets)


def test_consume_fetches_small_pieces_across_segments(orders):
    options = [*END, "--config", "fetch.max.bytes=1", "--json"]
    records = orders.ok("consume", "orders", *options).records
    assert [record["offset"] for record in records] == list(range(20))


def test_consume_max_messages_counts_over_partitions(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 3)
    for partition in range(3):
        kminilog.ok("produce", "t", "--partition", partition, stdin=b"%d\n" % partition * 2)
    assert kminilog.ok("consume", "t", "--max-messages", 5).out == "0\n0\n1\n1\n2\n"
    assert kminilog.ok("consume", "t", "--max-messages", 0).out == ""
    assert kminilog.ok("consume", "t", "--partition", 1, *END).out == "1\n1\n"


def test_consume_pattern_takes_the_topics_whose_whole_name_matches(kminilog):
    for name in ("log-a", "log-b", "other-log-a"):
        kminilog.ok("topic", "create", name, "--partitions", 1)
        kminilog.ok("produce", name, stdin=name.encode() + b"\n")
    assert kminilog.ok("consume", "--pattern", "log-.", *END).out == "log-a\nlog-b\n"


class Clock(ManualClock):
    """A clock that only `sleep_ms` moves; at 0.7 s something happens."""

    def __init__(self, happen: Callable[[], object]) -> None:
        super().__init__()
        self.happen = happen

    def sleep_ms(self, duration_ms: int) -> None:
        is_due = self.now_ms() < 700 <= self.now_ms() + duration_ms
        super().sleep_ms(duration_ms)
        if is_due:
            self.happen()


def test_consume_waits_for_more_until_the_timeout_after_the_last_message(orders, monkeypatch):
    def write() -> None:
        with LogDirWriter.open(orders.log_dir) as writer:
            writer.log(TopicPartition("orders", 0)).append([(None, b"late")])

    clock = Clock(write)
    monkeypatch.setattr(consume, "SystemClock", lambda: clock)
    options = ["--offset", 19, "--config", "consumer.timeout.ms=1000", "--json"]
    records = orders.ok("consume", "orders", *options).records
    assert [(record["offset"], record["value"]) for record in records] == [
        (19, "value19"),
        (20, "late"),
    ]
    assert 1700 <= clock.now_ms() < 2000


@pytest.mark.processes
def test_consume_prints_what_comes_while_it_waits(orders):
    process = orders.start("consume", "orders", "--offset", "19", "--max-messages", "2")
    assert process.stdout
    assert process.stdout.readline() == b"value19\n"
    orders.ok("produce", "orders", stdin=b"late\n")
    out, err = process.communicate()
    assert (process.returncode, out, err) == (0, b"late\n", b"")


def test_consume_offset_beyond_the_end_is_the_answer_no(orders):
    run = orders("consume", "orders", "--offset", 21, *END)
    assert_one_line(run, 1, "offset 21 is out of range", "0 up to, not including, 20")


def test_consume_offset_below_the_start_is_the_answer_no(orders):
    orders.ok("topic", "alter", "orders", "--config", "retention.bytes=200")
    orders.ok("retain")
    run = orders("consume", "orders", "--offset", 0, *END)
    assert_one_line(run, 1, "offset 0 is out of range")


WRONG = [
    ("", "--pattern"),
    ("orders --pattern 'o.*'", "--pattern"),
    ("--pattern '('", "--pattern '('"),
    ("--pattern no", "no topic matches 'no'"),
    ("nothing", "Topic nothing doesn't exist"),
    ("orders --partition 1", "[0, 0]"),
    ("orders --partition -1", "[0, 0]"),
    ("orders --offset -5", "none is negative"),
    ("orders --offset soon", "'soon' is no offset"),
    ("wide --offset 0", "--partition"),
    ("orders --config segment.bytes=9", "consumer.timeout.ms"),
    ("orders --config consumer.timeout.ms=x", "not a whole number"),
    ("orders --group g --partition 0", "leave out --partition"),
    ("orders --group g --offset 3", "--offset N and --tail"),
    ("orders --group a/b", "illegal group id"),
    ("orders --group ''", "illegal group id"),
]


def test_consume_bad_input_is_one_line(orders):
    orders.ok("topic", "create", "wide", "--partitions", 2)
    assert_refused(orders, orders.log_dir.parent, WRONG, "consume", *END)


def test_consume_damage_is_one_line_that_names_the_place(orders):
    log = orders.log_dir / "orders-0" / ("0" * 20 + ".log")
    flip_byte(log, 32 + 20, mask=1)
    run = orders("consume", "orders", *END)
    assert run.code == 2
    assert run.out == "value0\n"
    assert run.err.startswith(f"kminilog: {log}, byte 32: damaged")


@pytest.fixture(params=["documented", "kafka"])
def numbers(kminilog: CommandLine, request: pytest.FixtureRequest) -> CommandLine:
    """`kminilog` with a topic `t` of one partition: 40 messages in several segments."""
    config = ["--dialect", request.param, "--config", "segment.bytes=400"]
    kminilog.ok("topic", "create", "t", "--partitions", 1, *config)
    kminilog.ok("produce", "t", stdin=b"".join(b"value%d\n" % n for n in range(40)))
    return kminilog


def logs_of(numbers: CommandLine) -> list[Path]:
    return sorted((numbers.log_dir / "t-0").glob("*.log"))


def raise_last_offset(numbers: CommandLine) -> tuple[Path, int]:
    """Flip a bit in the offset of the last message, and return where it stands."""
    log = logs_of(numbers)[-1]
    position = message_positions(log.read_bytes())[-2]
    flip_byte(log, position + 2, mask=1)
    return log, position


def test_consume_last_message_with_a_wrong_offset_is_damage_and_not_committed(numbers):
    log, position = raise_last_offset(numbers)
    place = f"kminilog: {log}, byte {position}: damaged"
    reason = "a whole message with offset 1099511627815, expected 39"
    for options in ([], ["--group", "g"]):
        run = numbers("consume", "t", *options, *END, "--json")
        assert run.code == 2
        assert [record["offset"] for record in run.records] == list(range(39))
        assert run.err.startswith(f"{place}: {reason};")
        assert run.err.count("\n") == 1
    (partition,) = numbers.ok("group", "describe", "g", "--json").document["partitions"]
    assert (partition["committed"], partition["log_end_offset"]) == (39, 39)
    assert numbers("consume", "t", "--offset", "latest", *END).code == 2


def test_consume_group_after_a_recovery_skips_nothing_that_comes(numbers):
    """Also with an offset on record that an earlier version took from a damaged message."""
    raise_last_offset(numbers)
    numbers("consume", "t", "--group", "g", *END)
    log_dir = LogDir(numbers.log_dir)
    coordinator = Coordinator(
        log_dir.path, dict, log_dir.topic_id, clock=ManualClock(), chance=Random(1)
    )
    coordinator.commit("old", {TopicPartition("t", 0): 1099511627816})
    assert numbers("recover", "t-0", "--force").code == 0
    numbers("produce", "t", stdin=b"more\n" * 40)
    assert len(numbers.ok("consume", "t", "--group", "g", *END).out.splitlines()) == 40
    run = numbers("consume", "t", "--group", "old", "--offset", "latest", *END)
    assert (run.code, run.out) == (0, "")
    assert run.err == (
        "kminilog: t-0: the committed offset 1099511627816 is above the log end 79; "
        "reading goes on at 79, as auto.offset.reset = latest says\n"
    )
    numbers.ok("produce", "t", stdin=b"last\n")
    assert numbers.ok("consume", "t", "--group", "old", *END).out == "last\n"


def test_consume_missing_segment_is_damage_unless_gaps_are_allowed(numbers):
    _, second, third, *_ = logs_of(numbers)
    reader = LogDir(numbers.log_dir).reader(TopicPartition("t", 0))
    _, missing, following, *_ = reader.segments()
    lost = range(missing.first_offset, following.first_offset)
    second.unlink()
    run = numbers("consume", "t", *END, "--json")
    assert run.code == 2
    assert [record["offset"] for record in run.records] == list(range(lost.start))
    told = f"byte 0: damaged: its name says offset {lost.stop}"
    assert f"{third}, {told}, but {lost.start} comes next" in run.err

    run = numbers("consume", "t", *END, "--json", "--allow-gaps")
    assert run.code == 0
    assert [r["offset"] for r in run.records] == [o for o in range(40) if o not in lost]
    gap = f"offsets {lost.start} to {lost.stop - 1} are not in the log"
    assert run.err == f"kminilog: t-0: a gap: {gap} ({third}: byte 0)\n"
    assert numbers("find", "t-0", lost.start).code == 2
    run = numbers("find", "t-0", lost.start, "--allow-gaps")
    assert_one_line(run, 1, f"offset {lost.start} is in a gap of the log")
    run = numbers("find", "t-0", lost.start, "--allow-gaps", "--explain")
    assert run.code == 1
    assert f"Offset {lost.start} is in a gap of the log" in " ".join(run.out.split())


# ---- what is gone


@pytest.fixture(params=DIALECTS)
def three(kminilog: CommandLine, request: pytest.FixtureRequest) -> CommandLine:
    """A topic of two partitions; partition 0 has 20 messages in several segments."""
    config = ["--config", "segment.bytes=200", "--config", "index.interval.bytes=60"]
    kminilog.ok("topic", "create", "t", "--partitions", 2, "--dialect", request.param, *config)
    lines = b"".join(b"k:value%d\n" % number for number in range(20))
    for partition in (0, 1):
        kminilog.ok("produce", "t", "--partition", partition, "--key-separator", ":", stdin=lines)
    return kminilog


@pytest.mark.parametrize("options", [[], ["--json"], ["--key", "k"], ["--group", "g"]])
@pytest.mark.parametrize("lose", [*AT_START, *AT_END])
def test_consume_until_end_says_what_is_gone_and_ends_with_1(three, lose, options):
    lose(three.log_dir / "t-0")
    held = sum(row["message_count"] for row in three("ls", "t", "--json").document)
    run = three("consume", "t", "--until-end", *options)
    assert (run.code, len(run.err.splitlines())) == (1, 1)
    if lose in AT_START:
        assert run.err.endswith(" are gone; retention has not deleted them\n")
    else:
        assert " on the disk, the log ends before " in run.err
    assert run.err.startswith("kminilog: t-0: offset")
    assert len(run.out.splitlines()) == held


def test_consume_of_other_partitions_says_nothing_of_what_is_gone(three):
    first_segment(three.log_dir / "t-0")
    assert three.ok("consume", "t", "--partition", 1, "--until-end").err == ""


def test_consume_by_streams_says_what_is_gone_once(three):
    first_segment(three.log_dir / "t-0")
    options = ["--group", "g", "--streams", 2, "--max-messages", 30]
    run = three("consume", "t", *options)
    assert (run.code, run.err.count("\n"), run.err.count(" are gone; ")) == (1, 1, 1)


def test_consume_after_retention_says_nothing(three):
    three.ok("topic", "alter", "t", "--config", "retention.bytes=200")
    three.ok("retain")
    assert three("ls", "t", "--json").document[0]["first_offset"] > 0
    assert three.ok("consume", "t", "--until-end").err == ""


def test_consume_needs_no_lock(orders):
    with LogDirWriter.open(orders.log_dir):
        assert len(orders.ok("consume", "orders", *END, "--json").records) == 20


# ---- groups


def test_consume_group_goes_on_where_it_was(orders):
    options = ["--group", "readers", "--config", "consumer.timeout.ms=300"]
    first = orders.ok("consume", "orders", *options, "--max-messages", 7)
    rest = orders.ok("consume", "orders", *options)
    assert first.out.split() + rest.out.split() == [f"value{number}" for number in range(20)]
    assert orders.ok("consume", "orders", *options).out == ""
    other = orders.ok("consume", "orders", "--group", "others", "--max-messages", 1)
    assert other.out == "value0\n"


def test_consume_group_from_latest_skips_what_was_there_before(orders):
    options = ["--group", "readers", "--offset", "latest", "--config", "consumer.timeout.ms=300"]
    assert orders.ok("consume", "orders", *options).out == ""


def test_consume_group_reads_beside_the_writer_of_the_log_dir(orders):
    with LogDirWriter.open(orders.log_dir):
        run = orders.ok("consume", "orders", "--group", "readers", "--max-messages", 20)
    assert run.out.count("\n") == 20


def test_consume_group_with_a_pattern_reads_all_topics_that_match(orders):
    orders.ok("topic", "create", "other", "--partitions", 2)
    orders.ok("produce", "other", stdin=b"x\n")
    options = ["--pattern", "o.*", "--group", "readers", "--max-messages", 21, "--json"]
    records = orders.ok("consume", *options).records
    assert {record["topic"] for record in records} == {"orders", "other"}


def test_consume_group_without_automatic_commit_reads_the_same_again(orders):
    options = ["--group", "readers", "--config", "enable.auto.commit=false", "--max-messages", 5]
    runs = [orders.ok("consume", "orders", *options).out for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.processes
def test_consume_group_whose_reader_goes_away_loses_nothing(orders):
    process = orders.start("consume", "orders", "--group", "readers")
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.wait() in (0, 141)
    assert process.stderr.read() == b""
    process.stderr.close()
    options = ["--group", "readers", "--config", "consumer.timeout.ms=300"]
    assert orders.ok("consume", "orders", *options).out.split() == [f"value{n}" for n in range(20)]


def test_consume_group_after_a_topic_was_made_anew_reads_it_from_the_beginning(orders):
    options = ["--group", "readers", "--config", "consumer.timeout.ms=300"]
    orders.ok("consume", "orders", *options)
    orders.ok("topic", "delete", "orders", "--yes")
    orders.ok("topic", "create", "orders", "--partitions", 1)
    orders.ok("produce", "orders", stdin=b"new\n" * 30)
    assert orders.ok("consume", "orders", *options).out == "new\n" * 30


@pytest.mark.processes
@pytest.mark.parametrize("options", [[], ["--streams", "2"]], ids=["one member", "streams"])
def test_consume_group_reads_all_of_a_topic_that_is_replaced_while_it_runs(numbers, options):
    config = ["--config", "auto.commit.interval.ms=50"]
    process = numbers.start("consume", "t", "--group", "g", "--max-messages=49", *config, *options)
    assert process.stdout
    assert process.stderr
    assert [process.stdout.readline() for _ in range(40)] == [b"value%d\n" % n for n in range(40)]
    numbers.ok("topic", "delete", "t", "--yes")
    numbers.ok("topic", "create", "t", "--partitions", 1)
    numbers.ok("produce", "t", stdin=b"".join(b"new %d\n" % n for n in range(90)))
    assert [process.stdout.readline() for _ in range(9)] == [b"new %d\n" % n for n in range(9)]
    # Streams that have no partition when the topic comes back begin as a new member does: no line.
    told = process.stderr.read()
    assert (b"was deleted" in told or (options and not told), process.wait()) == (True, 0)
    (partition,) = numbers.ok("group", "describe", "g", "--json").document["partitions"]
    assert (partition["committed"], partition["lag"]) == (9, 81)


@pytest.mark.parametrize("count", [0, 3, 90])
def test_consume_group_commits_no_offset_of_a_topic_that_was_replaced(numbers, monkeypatch, count):
    """Between two polls: neither the consumer nor its group has noticed the deletion."""

    def replace_topic() -> None:
        with LogDirWriter.open(numbers.log_dir) as writer:
            topic = writer.topic("t")
            writer.delete_topic("t")
            writer.create_topic(replace(topic, topic_id=new_topic_id(Random(1))))
            writer.log(TopicPartition("t", 0)).append([(None, b"new")] * count)

    monkeypatch.setattr(consume, "SystemClock", lambda: Clock(replace_topic))
    options = ["--config", "auto.commit.interval.ms=100", "--config", "consumer.timeout.ms=1000"]
    run = numbers("consume", "t", "--group", "g", *options)
    assert (run.code, run.out.splitlines()[40:]) == (0, ["new"] * count)
    assert run.err == (
        "kminilog: t-0: topic t was deleted and created again; offset 40 was one of the old topic; "
        "reading begins anew at 0\n"
    )
    (partition,) = numbers.ok("group", "describe", "g", "--json").document["partitions"]
    assert (partition["committed"], partition["lag"]) == (count, 0)


@pytest.mark.processes
def test_consume_of_a_topic_that_is_deleted_meanwhile_says_so(numbers):
    process = numbers.start("consume", "t")
    assert process.stdout
    assert [process.stdout.readline() for _ in range(40)] == [b"value%d\n" % n for n in range(40)]
    numbers.ok("topic", "delete", "t", "--yes")
    out, err = process.communicate()
    assert (process.returncode, out) == (2, b"")
    assert err == b"kminilog: Topic t was deleted while it was read: nothing is left of it\n"


def test_consume_group_of_latest_goes_on_where_it_was(orders):
    options = ["--group", "g", "--offset", "latest", "--config", "consumer.timeout.ms=300"]
    assert orders.ok("consume", "orders", *options).out == ""
    orders.ok("produce", "orders", stdin=b"late\n")
    run = orders("consume", "orders", *options)
    assert (run.code, run.out) == (0, "late\n")
    assert run.err == (
        "kminilog: group g goes on at its committed offsets: orders-0 at 20; --offset latest "
        "is for partitions without one; `kminilog group reset g --to latest --yes` moves them\n"
    )


def test_consume_group_with_a_strategy_of_the_user_in_the_current_directory(
    orders, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one_for_all.py").write_text(
        "class First:\n"
        "    def assign(self, partitions, members):\n"
        "        rest = {member.id: [] for member in members}\n"
        "        rest[min(rest)] = [(t, n) for t in partitions for n in range(partitions[t])]\n"
        "        return rest\n"
    )
    strategy = ["--config", "partition.assignment.strategy=one_for_all.First"]
    run = orders.ok("consume", "orders", "--group", "g", *strategy, "--max-messages", 1)
    assert run.out == "value0\n"
