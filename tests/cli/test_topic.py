"""`topic` and `ls`."""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from kminilog.cli import topic
from kminilog.config import topic_settings
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic, write_topic
from tests.support.cli.command_line import CommandLine, assert_one_line, assert_refused
from tests.support.damage import files_of
from tests.support.storage.full_disk import fill

DESCRIPTION = {"topic", "dialect", "config", "partitions"}
PARTITION = {"partition", "log_start_offset", "log_end_offset", "size_bytes", "segments"}
SEGMENT = {
    "name",
    "base_offset",
    "first_offset",
    "next_offset",
    "log_bytes",
    "index_entries",
    "message_count",
}


def test_topic_create_makes_log_dir_partitions_and_settings(kminilog):
    run = kminilog.ok(
        "topic",
        "create",
        "t",
        "--partitions",
        2,
        "--dialect",
        "kafka",
        "--config",
        "segment.bytes=99",
    )
    assert run.out == "created topic t: 2 partitions, kafka dialect\n"
    settings = json.loads((kminilog.log_dir / "t.json").read_text())
    assert settings == {
        "topic": "t",
        "topic_id": settings["topic_id"],
        "partitions": 2,
        "dialect": "kafka",
        "config": {"segment.bytes": 99},
    }
    assert sorted(path.name for path in kminilog.log_dir.glob("t-*")) == ["t-0", "t-1"]


def test_topic_has_an_id_from_its_creation_which_no_other_topic_has(kminilog, tmp_path):
    ids = []
    (tmp_path / "lines.txt").write_text("x\n")
    for make in (
        ["topic", "create", "t", "--partitions", 1],
        ["topic", "create", "t", "--partitions", 1],
        ["ingest", tmp_path / "lines.txt", "--topic", "t", "--engine", "local"],
    ):
        kminilog.ok(*make)
        ids.append(kminilog.ok("topic", "describe", "t", "--json").document["topic_id"])
        assert f"topic id: {ids[-1]}" in kminilog.ok("topic", "describe", "t").out.splitlines()
        kminilog("topic", "alter", "t", "--partitions", 2)
        assert kminilog.ok("topic", "list", "--json").document[0]["topic_id"] == ids[-1]
        kminilog.ok("topic", "delete", "t", "--yes")
    assert len({*ids}) == 3
    with LogDirWriter.open(kminilog.log_dir) as writer:
        made = writer.create_topic(Topic("t"))
    write_topic(kminilog.log_dir, replace(made, topic_id=None))  # as an earlier release did
    assert kminilog.ok("topic", "describe", "t", "--json").document["topic_id"] is None
    assert "topic id: none" in kminilog.ok("topic", "describe", "t").out.splitlines()


def test_topic_create_takes_the_documented_dialect_by_default(kminilog):
    created = kminilog.ok("topic", "create", "t", "--partitions", 1, "--json").document
    assert created["dialect"] == "documented"


def test_topic_list_names_all_topics(kminilog):
    for name in ("b", "a"):
        kminilog.ok("topic", "create", name, "--partitions", 3)
    assert [topic["topic"] for topic in kminilog.ok("topic", "list", "--json").document] == [
        "a",
        "b",
    ]
    assert kminilog.ok("topic", "list").out.splitlines()[1].split() == (
        ["a", "3", "0", "0", "documented"]
    )


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
def test_topic_list_says_how_much_each_topic_holds(kminilog, dialect):
    config = ["--dialect", dialect, "--config", "segment.bytes=200"]
    for name, messages in (("a", 40), ("b", 0)):
        kminilog.ok("topic", "create", name, "--partitions", 2, *config)
        kminilog.ok("produce", name, stdin=b"value\n" * messages)
    kminilog.ok("topic", "alter", "a", "--config", "retention.bytes=300")
    kminilog.ok("retain")
    listed = kminilog.ok("topic", "list", "--json").document
    for held in listed:
        described = kminilog.ok("topic", "describe", held["topic"], "--json").document
        segments = [one for each in described["partitions"] for one in each["segments"]]
        assert held["message_count"] == sum(one["message_count"] for one in segments)
        assert held["size_bytes"] == sum(one["log_bytes"] for one in segments)
    assert 0 < listed[0]["message_count"] < 40
    heading, *rows = [line.split() for line in kminilog.ok("topic", "list").out.splitlines()]
    assert heading == ["topic", "partitions", "messages", "bytes", "dialect"]
    assert rows == [
        [one["topic"], "2", str(one["message_count"]), str(one["size_bytes"]), dialect]
        for one in listed
    ]


def test_topic_list_of_a_partition_that_cannot_be_read_shows_the_rest(orders):
    orders.ok("topic", "create", "bills", "--partitions", 2)
    orders.ok("produce", "bills", stdin=b"x\n" * 4)
    shutil.rmtree(orders.log_dir / "bills-1")
    for words in (["--json"], []):
        run = orders("topic", "list", *words)
        assert run.code == 2
        assert run.err.count("\n") == 1
        assert "bills-1" in run.err
        if words:
            sizes = [(one["message_count"], one["size_bytes"]) for one in run.document]
            assert sizes[0] == (None, None)
            assert sizes[1][0] == 20
        else:
            assert run.out.splitlines()[1].split() == ["bills", "2", "-", "-", "documented"]


# ---- create --if-not-exists


def test_topic_create_if_not_exists_makes_it_once(kminilog):
    create = ["topic", "create", "t", "--partitions", 2, "--if-not-exists"]
    assert kminilog.ok(*create).out == "created topic t: 2 partitions, documented dialect\n"
    before = files_of(kminilog.log_dir)
    run = kminilog.ok(*create)
    assert run.out == "topic t exists already: 2 partitions, documented dialect\n"
    described = kminilog.ok("topic", "describe", "t", "--json").document
    assert kminilog.ok(*create, "--json").document == described
    assert files_of(kminilog.log_dir) == before


def test_topic_create_if_not_exists_says_what_is_not_as_asked(orders):
    options = [
        "--if-not-exists",
        "--config",
        "segment.bytes=99",
        "--config",
        "retention.ms=604800000",
    ]
    run = orders("topic", "create", "orders", "--partitions", 3, "--dialect", "kafka", *options)
    assert run.code == 0
    assert run.out == "topic orders exists already: 1 partition, documented dialect\n"
    assert run.err == (
        "kminilog: topic orders is different, and stays as it is: 1 partition, not 3; "
        "documented dialect, not kafka; segment.bytes = 200, not 99\n"
    )
    assert orders.ok("topic", "describe", "orders", "--json").document["dialect"] == "documented"


def test_topic_create_if_not_exists_needs_no_lock_if_it_exists(orders):
    with LogDirWriter.open(orders.log_dir):
        orders.ok("topic", "create", "orders", "--partitions", 1, "--if-not-exists")
        run = orders("topic", "create", "new", "--partitions", 1, "--if-not-exists")
        assert_one_line(run, 2, "is writing to it")


def test_topic_create_if_not_exists_of_a_topic_that_another_makes_meanwhile(orders, monkeypatch):
    looks = [None, Topic("orders")]
    monkeypatch.setattr(topic, "_existing", lambda *_: looks.pop(0))
    run = orders("topic", "create", "orders", "--partitions", 1, "--if-not-exists")
    assert (run.code, run.out) == (
        (0, "topic orders exists already: 1 partition, documented dialect\n")
    )


def test_topic_describe_has_the_fields_of_the_contract(orders):
    described = orders.ok("topic", "describe", "orders", "--json").document
    assert set(described) >= DESCRIPTION
    assert described["topic"] == "orders"
    settings = TopicSettings(segment_bytes=200, index_interval_bytes=60)
    assert described["config"] == settings.to_config()
    (partition,) = described["partitions"]
    assert set(partition) >= PARTITION
    assert (partition["log_start_offset"], partition["log_end_offset"]) == (0, 20)
    assert all(set(segment) >= SEGMENT for segment in partition["segments"])


def test_topic_describe_counts_what_the_files_hold(orders):
    described = orders.ok("topic", "describe", "orders", "--json").document
    (partition,) = described["partitions"]
    files = files_of(orders.log_dir / "orders-0")
    names = [segment["name"] for segment in partition["segments"]]
    assert [f"{name}{suffix}" for name in names for suffix in (".index", ".log")] == sorted(files)
    assert len(names) > 3
    for segment in partition["segments"]:
        assert segment["log_bytes"] == len(files[f"{segment['name']}.log"])
        assert segment["index_entries"] == len(files[f"{segment['name']}.index"]) // 8
        assert segment["base_offset"] == int(segment["name"])
        assert segment["message_count"] == segment["next_offset"] - segment["first_offset"]
    assert sum(segment["message_count"] for segment in partition["segments"]) == 20
    assert partition["size_bytes"] == sum(segment["log_bytes"] for segment in partition["segments"])


def test_ls_lists_the_segments_that_describe_shows(orders):
    described = orders.ok("topic", "describe", "orders", "--json").document
    place = {"topic": "orders", "partition": 0}
    expected = [place | segment for segment in described["partitions"][0]["segments"]]
    assert orders.ok("ls", "orders", "--json").document == expected
    lines = orders.ok("ls").out.splitlines()
    assert len(lines) == 1 + len(expected)
    assert lines[1].split() == ["orders-0", "0" * 20, "0..5", "6", "192", "2"]


def test_topic_alter_keeps_settings_that_are_not_named(orders):
    altered = orders.ok("topic", "alter", "orders", "--config", "retention.ms=5", "--json").document
    changed = topic_settings(altered["config"]).changed()
    assert changed == {"segment.bytes": 200, "index.interval.bytes": 60, "retention.ms": 5}


def test_topic_alter_adds_partitions_and_says_that_keys_move(orders):
    run = orders("topic", "alter", "orders", "--partitions", 3, "--json")
    assert run.code == 0
    assert [found["partition"] for found in run.document["partitions"]] == [0, 1, 2]
    assert "keys may go to other ones" in run.err


@pytest.fixture
def half_deleted(orders: CommandLine, tmp_path: Path) -> CommandLine:
    """`orders`, whose deletion a crash has interrupted, beside a topic `other`."""
    orders.ok("topic", "create", "other", "--partitions", 1)
    (tmp_path / "lines.txt").write_text("x\n")
    settings = orders.log_dir / "orders.json"
    facts = json.loads(settings.read_text())
    settings.write_text(json.dumps(facts | {"marked_for_deletion": True}))
    return orders


IS_BEING_DELETED = (
    "kminilog: Topic orders is being deleted; after a crash, "
    "`kminilog topic delete orders --yes` deletes the rest\n"
)


NEED_THE_TOPIC = [
    "produce orders",
    "produce orders --partition 0",
    "ingest {}/lines.txt --topic orders --engine local",
    "consume orders --until-end",
    "consume orders --until-end --group g",
    "find orders-0 3",
    "verify orders",
    "verify orders --against {}/lines.txt --engine local",
    "recover orders-0",
    "ls orders",
    "group reset g --topic orders --to earliest",
    "topic create orders --partitions 1",
    "topic create orders --partitions 1 --if-not-exists",
    "topic alter orders --partitions 3",
    "topic describe orders",
]


def test_topic_whose_deletion_was_interrupted_is_refused_with_the_way_out(half_deleted, tmp_path):
    command = partial(half_deleted, stdin=b"next\n")
    rows = [(typed.format(tmp_path), IS_BEING_DELETED) for typed in NEED_THE_TOPIC]
    staging = (".staging", ".job-staging")  # empty ones may stay
    assert_refused(command, half_deleted.log_dir, rows, without=staging)


@pytest.mark.parametrize(
    "words", ["topic list", "ls", "retain --dry-run", "retain", "consume --pattern .* --until-end"]
)
def test_topic_whose_deletion_was_interrupted_is_left_out_and_named(half_deleted, words):
    """As one whose settings file is broken."""
    run = half_deleted(*words.split())
    assert (run.code, run.err) == (2, IS_BEING_DELETED)
    assert "orders" not in run.out


def test_topic_whose_deletion_was_interrupted_is_not_checked_by_verify(half_deleted):
    run = half_deleted("verify", "--json")
    assert run.code == 2
    assert run.document["findings"] == []
    assert IS_BEING_DELETED[len("kminilog: ") : -1] in [
        found["why"] for found in run.document["unchecked"]
    ]


def test_topic_whose_deletion_was_interrupted_can_be_deleted_and_made_anew(half_deleted):
    shutil.rmtree(half_deleted.log_dir / "orders-0")
    assert_one_line(half_deleted("topic", "delete", "orders"), 2, "add --yes")
    half_deleted.ok("topic", "delete", "orders", "--yes")
    assert half_deleted.ok("topic", "create", "orders", "--partitions", 1).out
    assert half_deleted.ok("topic", "list").out


def test_topic_delete_removes_everything_of_it(orders):
    assert orders.ok("topic", "delete", "orders", "--yes").out == "deleted topic orders\n"
    assert not list(orders.log_dir.glob("orders*"))


def long_name_commands(name: str, lines: Path, page: Path) -> list[list[object]]:
    return [
        ["topic", "create", name, "--partitions", 11],
        ["topic", "alter", name, "--partitions", 12, "--config", "segment.bytes=200"],
        ["topic", "describe", name],
        ["topic", "list"],
        ["produce", name, lines],
        ["ingest", lines, "--topic", name],
        ["ingest", lines, "--topic", name[:-1] + "X", "--partitions", 11],
        ["consume", name, "--until-end"],
        ["consume", name, "--group", "readers", "--max-messages", 1],
        ["group", "describe", "readers"],
        ["find", f"{name}-10", 0],
        ["ls", name, "--html", page],
        ["verify", name, "--against", lines, "--job", "none"],
        ["recover", f"{name}-10"],
        ["retain"],
        ["topic", "delete", name[:-1] + "X", "--yes"],
        ["topic", "delete", name, "--yes"],
    ]


@pytest.mark.parametrize("length", range(243, 250))
def test_topic_with_a_name_of_any_legal_length_works_and_leaves_nothing(kminilog, tmp_path, length):
    lines = tmp_path / "lines.txt"
    lines.write_bytes(b"".join(b"%d\n" % number for number in range(40)))
    name = "n" * length
    for arguments in long_name_commands(name, lines, tmp_path / "page.html"):
        run = kminilog(*arguments)
        assert "too long" not in run.err
        assert (arguments[0] == "verify") == (run.code == 2), run
    assert [path.name for path in kminilog.log_dir.iterdir() if "n" * 99 in path.name] == []


def test_topic_delete_on_a_full_disk_frees_it(mount, dialect):
    disk = mount("size=3m")
    kminilog = CommandLine(disk / "log-dir")
    create = ("topic", "create", "orders", "--partitions", 2, "--dialect", dialect.name)
    kminilog.ok(*create)
    messages = b"\n".join(b"%06d" % number * 100 for number in range(6000))
    assert kminilog("produce", "orders", stdin=messages).code == 2
    kminilog.ok("consume", "orders", "--group", "g", "--max-messages", 3)
    fill(disk)
    kminilog.ok("topic", "delete", "orders", "--yes")
    kminilog.ok(*create)
    kminilog.ok("produce", "orders", stdin=messages[:500_000])
    assert kminilog.ok("verify", "--json").document["verdict"] == "ok"


def test_topic_delete_with_a_broken_group_or_manifest_says_so(orders):
    """Offsets that a group keeps would be those of the next topic of this name: nothing goes."""
    group = orders.log_dir / ".groups" / "readers.json"
    group.parent.mkdir()
    group.write_text("{")
    assert_one_line(orders("topic", "delete", "orders", "--yes"), 2, "readers.json holds no state")
    assert orders.ok("topic", "describe", "orders").out
    group.unlink()
    manifest = orders.log_dir / ".manifests" / "job.json"
    manifest.parent.mkdir()
    manifest.write_text("{")
    run = orders("topic", "delete", "orders", "--yes")
    assert (run.code, run.out) == (0, "deleted topic orders\n")
    assert "job.json holds no manifest" in run.err
    assert run.err.count("\n") == 1
    assert manifest.exists()


WRONG = [
    ("create orders --partitions 1", "exists already"),
    ("create orders --partitions 0 --if-not-exists", "not 0"),
    ("create 'größe' --partitions 1 --if-not-exists", "illegal topic name"),
    ("create '' --partitions 1 --if-not-exists", "illegal topic name"),
    ("create orders --partitions 1 --replicas 1", "--replicas needs --cluster"),
    ("create x/y --partitions 1", "illegal topic name 'x/y'"),
    ("create .. --partitions 1", "illegal topic name"),
    ("create x --partitions 0", "not 0"),
    ("create x", "--partitions"),
    ("create x --partitions 1 --dialect old", "documented"),
    ("create x --partitions 1 --config segment.byte=9", "segment.bytes"),
    ("create x --partitions 1 --config segment.bytes", "name=value"),
    ("create x --partitions 1 --config segment.bytes=1", "outside of"),
    ("describe nothing", "Topic nothing doesn't exist"),
    ("alter nothing --partitions 2", "Topic nothing doesn't exist"),
    ("alter orders --partitions 0", "none can be taken away"),
    ("alter orders", "--partitions or --config"),
    ("delete nothing --yes", "Topic nothing doesn't exist"),
    ("delete orders", "--yes"),
]


def test_topic_bad_input_is_one_line_and_changes_nothing(orders):
    assert_refused(orders, orders.log_dir.parent, WRONG, "topic")


def test_ls_unknown_topic_is_one_line(orders):
    assert_one_line(orders("ls", "nothing"), 2, "Topic nothing doesn't exist")


COMMANDS = [
    "topic list",
    "topic describe x",
    "topic alter x --partitions 2",
    "topic delete x --yes",
    "ls",
    "produce x",
    "consume x",
    "find x-0 0",
    "verify",
    "recover x-0",
    "retain",
    "retain --dry-run",
]


def test_missing_log_dir_is_one_line(kminilog, tmp_path):
    rows = [(command, str(kminilog.log_dir), "no such directory") for command in COMMANDS]
    assert_refused(kminilog, tmp_path, rows)
