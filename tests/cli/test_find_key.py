"""`find --key`: all messages with a key, in one partition or in a whole topic."""

import pytest

from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from tests.cli.command_line import CommandLine, assert_one_line
from tests.damage import flip_byte


@pytest.fixture(params=["documented", "kafka"])
def keyed(kminilog: CommandLine, request: pytest.FixtureRequest) -> CommandLine:
    """`kminilog` with a topic `t` of three partitions in small segments; keys of all kinds."""
    config = ["--dialect", request.param, "--config", "segment.bytes=150"]
    kminilog.ok("topic", "create", "t", "--partitions", 3, *config)
    lines = b"a:1\nb:2\nno key\n:3\n\xc3\xa4:4\nab:5\n\xff:6\n" * 5
    kminilog.ok("produce", "t", "--key-separator", ":", stdin=lines)
    return kminilog


@pytest.mark.parametrize("key", ["a", "b", "", "ä", "\udcff", "ab"])
def test_find_key_finds_what_find_says_of_each_offset(keyed, key):
    data = key.encode("utf-8", "surrogateescape")
    consumed = keyed.ok("consume", "t", "--until-end", "--key", key, "--json").records
    expected = sorted((one["partition"], one["offset"]) for one in consumed)
    found = keyed.ok("find", "t", "--key", key, "--json").records
    assert [(one["partition"], one["offset"]) for one in found] == expected
    assert len(found) == 5
    for one in found:
        where = f"t-{one['partition']}"
        single = keyed.ok("find", where, one["offset"], "--json").document
        assert one == {name: single[name] for name in one}
        assert set(one) == {"topic", "partition", "offset", "segment", "position", "message"}
        assert one["message"]["key_size"] == len(data)
    lines = keyed.ok("find", "t", "--key", key).out.splitlines()
    assert lines == [
        keyed.ok("find", f"t-{partition}", offset).out.rstrip() for partition, offset in expected
    ]


def test_find_key_that_looks_like_a_negative_number(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    kminilog.ok("produce", "t", "--key-separator", ":", stdin=b"-5:x\n")
    for words in (["--key", "-5"], ["--key=-5"]):
        assert 'key "-5"' in kminilog.ok("find", "t", *words).out


def test_find_key_in_one_partition(keyed):
    found = keyed.ok("find", "t", "--key", "a", "--json").records
    (partition,) = {one["partition"] for one in found}
    assert keyed.ok("find", f"t-{partition}", "--key", "a", "--json").records == found
    other = (partition + 1) % 3
    run = keyed("find", f"t-{other}", "--key", "a")
    assert_one_line(run, 1, f'no message of t-{other} has the key "a"; ', " read")


def test_find_key_that_is_nowhere_is_the_answer_no(keyed):
    for key, shown in (("A", '"A"'), ("b\x1b", r'"b\u001b"'), ("\udcfe", r"b'\xfe'")):
        run = keyed("find", "t", "--key", key)
        assert_one_line(run, 1, f"no message of t has the key {shown}; 35 messages read")
    assert_one_line(keyed("find", "t", "--key", "A", "--json"), 1, '"A"')


def test_find_key_in_a_topic_whose_name_looks_like_a_partition(kminilog):
    kminilog.ok("topic", "create", "log-1", "--partitions", 2)
    kminilog.ok("produce", "log-1", "--key-separator", ":", stdin=b"a:1\n")
    assert kminilog.ok("find", "log-1", "--key", "a").out.startswith("log-1-")
    assert_one_line(kminilog("find", "log-2", "--key", "a"), 2, "Topic log doesn't exist")


def test_find_key_beyond_damage_prints_what_is_before_and_names_the_place(orders):
    log = orders.log_dir / "orders-0" / ("0" * 20 + ".log")
    flip_byte(log, 32 + 20, mask=1)
    run = orders("find", "orders", "--key", "key0")
    assert run.code == 2
    assert "offset 0" in run.out
    assert run.err.startswith(f"kminilog: {log}, byte 32: damaged")


def test_find_key_in_a_log_with_gaps(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    log = kminilog.log_dir / "t-0" / ("0" * 20 + ".log")
    log.write_bytes(b"".join(encode(KAFKA, offset, b"k", b"v") for offset in (0, 1, 5, 6)))
    run = kminilog("find", "t", "--key", "k", "--json", "--allow-gaps")
    assert (run.code, [one["offset"] for one in run.records]) == (0, [0, 1, 5, 6])
    assert "a gap" in run.err
    assert kminilog("find", "t", "--key", "k").code == 2


def test_find_key_into_a_closed_pipe_ends_quietly(orders):
    orders.ok("produce", "orders", "--key-separator", ":", stdin=b"key:value\n" * 3000)
    process = orders.start("find", "orders", "--key", "key")
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["orders-0"], "give an OFFSET, or a key with --key"),
        (["orders"], "give an OFFSET, or a key with --key"),
        (["orders-0", 3, "--key", "k"], "no OFFSET"),
        (["orders-0", "--key", "k", "--explain"], "no --explain"),
        (["orders-0", "--key"], "--key"),
        (["other", "--key", "k"], "Topic other doesn't exist"),
        (["orders-1", "--key", "k"], "[0, 0]"),
        (["", "--key", "k"], "''"),
        (["größe", "--key", "k"], "größe"),
        (["../orders", "--key", "k"], "../orders"),
    ],
)
def test_find_key_bad_input_is_one_line(orders, arguments, part):
    assert_one_line(orders("find", *arguments), 2, part)
