"""`topic` and `ls`."""

import json

import pytest

from kminilog.config_parsing import topic_settings
from kminilog.settings import TopicSettings
from tests.cli.command_line import assert_one_line
from tests.damage import files_of

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
    assert json.loads((kminilog.log_dir / "t.json").read_text()) == {
        "topic": "t",
        "partitions": 2,
        "dialect": "kafka",
        "config": {"segment.bytes": 99},
    }
    assert sorted(path.name for path in kminilog.log_dir.glob("t-*")) == ["t-0", "t-1"]


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
    assert kminilog.ok("topic", "list").out.splitlines()[1].split() == ["a", "3", "documented"]


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


def test_topic_delete_removes_everything_of_it(orders):
    assert orders.ok("topic", "delete", "orders", "--yes").out == "deleted topic orders\n"
    assert not list(orders.log_dir.glob("orders*"))


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


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["create", "orders", "--partitions", 1], "exists already"),
        (["create", "x/y", "--partitions", 1], "illegal topic name 'x/y'"),
        (["create", "..", "--partitions", 1], "illegal topic name"),
        (["create", "x", "--partitions", 0], "not 0"),
        (["create", "x", "--partitions", -1], "not -1"),
        (["create", "x"], "--partitions"),
        (["create", "x", "--partitions", 1, "--dialect", "old"], "documented"),
        (["create", "x", "--partitions", 1, "--config", "segment.byte=9"], "segment.bytes"),
        (["create", "x", "--partitions", 1, "--config", "segment.bytes"], "name=value"),
        (["create", "x", "--partitions", 1, "--config", "segment.bytes=1"], "outside of"),
        (["describe", "nothing"], "Topic nothing doesn't exist"),
        (["alter", "nothing", "--partitions", 2], "Topic nothing doesn't exist"),
        (["alter", "orders", "--partitions", 0], "none can be taken away"),
        (["alter", "orders"], "--partitions or --config"),
        (["delete", "nothing", "--yes"], "Topic nothing doesn't exist"),
        (["delete", "orders"], "--yes"),
    ],
)
def test_topic_bad_input_is_one_line_and_changes_nothing(orders, arguments, part):
    before = files_of(orders.log_dir)
    assert_one_line(orders("topic", *arguments), 2, part)
    assert files_of(orders.log_dir) == before


def test_ls_unknown_topic_is_one_line(orders):
    assert_one_line(orders("ls", "nothing"), 2, "Topic nothing doesn't exist")


@pytest.mark.parametrize(
    "arguments",
    [
        ["topic", "list"],
        ["topic", "describe", "x"],
        ["topic", "alter", "x", "--partitions", 2],
        ["topic", "delete", "x", "--yes"],
        ["ls"],
        ["produce", "x"],
        ["consume", "x"],
        ["find", "x-0", 0],
        ["verify"],
        ["recover", "x-0"],
        ["retain"],
        ["retain", "--dry-run"],
    ],
)
def test_missing_log_dir_is_one_line(kminilog, arguments):
    assert_one_line(kminilog(*arguments), 2, str(kminilog.log_dir), "no such directory")
    assert not kminilog.log_dir.exists()
