"""`find`: the contract's fields, and the classroom view of a search."""

import re
import struct

import pytest

from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic
from tests.support.cli.command_line import CommandLine, assert_one_line, assert_refused
from tests.support.damage import files_of, flip_byte, index_entries, message_positions
from tests.support.storage.losses import AT_END, AT_START, all_segments

FIELDS = {
    "topic",
    "partition",
    "offset",
    "segment",
    "segments_probed",
    "index_entry",
    "index_probes",
    "scanned_messages",
    "scanned_bytes",
    "position",
    "message",
}
MESSAGE = {
    "offset",
    "position",
    "size",
    "crc",
    "valid",
    "magic",
    "attributes",
    "key_size",
    "value_size",
    "key",
    "value",
}


def test_find_json_has_the_fields_of_the_contract(orders):
    found = orders.ok("find", "orders-0", 9, "--json").document
    assert set(found) >= FIELDS
    assert set(found["message"]) >= MESSAGE
    assert (found["topic"], found["partition"], found["offset"]) == ("orders", 0, 9)
    assert found["message"]["key"] == "key9"


def test_find_every_offset_says_where_the_files_have_it(orders):
    files = files_of(orders.log_dir / "orders-0")
    offenders = []
    for offset in range(20):
        found = orders.ok("find", "orders-0", offset, "--json").document
        log = files[f"{found['segment']}.log"]
        base_offset = int(found["segment"])
        entries = [
            {"offset": base_offset + relative, "position": position, "relative_offset": relative}
            for relative, position in index_entries(files[f"{found['segment']}.index"])
        ]
        below = [entry for entry in entries if entry["offset"] <= offset]
        start = below[-1]["position"] if below else 0
        position = found["position"]
        end = position + 12 + found["message"]["size"]
        checks = {
            "position": struct.unpack_from(">q", log, position) == (offset,),
            "index_entry": found["index_entry"] == (below[-1] if below else None),
            "scanned_messages": found["scanned_messages"]
            == len([at for at in message_positions(log)[:-1] if start <= at <= position]),
            "scanned_bytes": found["scanned_bytes"] == end - start,
            "message": found["message"]["value"] == f"value{offset}",
            "segments_probed": all(
                len(name) == 20 and name.isdigit() for name in found["segments_probed"]
            ),
            "index_probes": 1 <= found["index_probes"] <= len(entries).bit_length(),
        }
        offenders += [(offset, name, found) for name, holds in checks.items() if not holds]
    assert offenders == []


@pytest.fixture
def worked_example(kminilog: CommandLine) -> CommandLine:
    """The documents' partition, whose segment 368769 begins with offset 368770."""
    with LogDirWriter.open(kminilog.log_dir, create=True) as writer:
        settings = TopicSettings(index_interval_bytes=450)
        topic = Topic("orders", dialect=DOCUMENTED, settings=settings)
        writer.create_topic(topic, base_offset=368759)
        log = writer.log(TopicPartition("orders", 0))
        log.append([(None, b"before")] * 10)
        log.roll()
        log.append([(None, b"x" * 226)] * 2)
        log.append([(None, b"after")] * 10)
    return kminilog


@pytest.mark.parametrize(
    ("offset", "segment", "entry"),
    [
        (368769, 368759, None),
        (368770, 368769, None),
        (368776, 368769, {"offset": 368772, "position": 496, "relative_offset": 3}),
    ],
)
def test_find_worked_example_is_in_the_segment_of_the_documents(
    worked_example, offset, segment, entry
):
    found = worked_example.ok("find", "orders-0", offset, "--json").document
    assert found["segment"] == f"{segment:020d}"
    assert found["index_entry"] == entry


def test_find_text_is_one_line(orders):
    assert orders.ok("find", "orders-0", 7).out == (
        'orders-0/00000000000000000005.log, offset 7, byte 32: key "key7", value "value7"\n'
    )


def test_find_explain_shows_every_probe_of_the_search(orders):
    found = orders.ok("find", "orders-0", 15, "--json").document
    text = " ".join(orders.ok("find", "orders-0", 15, "--explain").out.split())
    names = re.findall(r"Slot \d+ is (\d+):", text)
    assert [f"{int(name):020d}" for name in names] == found["segments_probed"]
    assert len(re.findall(r"Entry \d+ is for", text)) == found["index_probes"]
    assert f"The message with offset {found['index_entry']['offset']} begins at byte" in text
    assert f"{found['scanned_messages']} messages, {found['scanned_bytes']} bytes in all" in text
    assert 'The key is "key15", its value "value15"' in text


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
def test_find_explain_shows_every_byte_of_the_message(kminilog, dialect):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", dialect)
    kminilog.ok(
        "produce", "t", "--key-separator", ":", stdin=b"a:b\nkey:\xff value of some length\n"
    )
    text = kminilog.ok("find", "t-0", 1, "--explain").out
    heading, *rows = text.rsplit(".log, bytes", 1)[1].split("\n\n")[0].splitlines()[1:]
    columns = [heading.index(name) for name in ("field", "bytes", "value")]
    shown = b"".join(bytes.fromhex(row[columns[1] : columns[2]]) for row in rows)
    log = (kminilog.log_dir / "t-0" / ("0" * 20 + ".log")).read_bytes()
    assert shown == log[message_positions(log)[1] :]
    fields = ["offset", "size", "crc", "magic", "attributes", "key length", "key"]
    fields += ["value length", "value"] if dialect == "kafka" else ["value"]
    names = [row[columns[0] : columns[1]].strip() for row in rows]
    assert [name for name in names if name] == fields


def test_find_explain_tells_that_an_index_entry_was_not_trusted(orders):
    index = orders.log_dir / "orders-0" / "00000000000000000005.index"
    flip_byte(index, 15, mask=1)
    text = " ".join(orders.ok("find", "orders-0", 11, "--explain").out.split())
    assert "A search never trusts an index, so the walk begins at byte 0" in text
    assert orders.ok("find", "orders-0", 11, "--json").document["index_entry"] is None


def test_find_explain_is_the_step_through_as_text(orders):
    for offset in (0, 7, 19):
        explained = orders.ok("find", "orders-0", offset, "--explain").out
        assert explained == orders.ok("step", "find-offset", "orders-0", offset).out


def test_find_offset_beyond_the_end_is_the_answer_no(orders):
    assert_one_line(orders("find", "orders-0", 20), 1, "offset 20 is out of range")


def test_find_in_an_empty_partition_says_that_it_is_empty(kminilog):
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    assert_one_line(kminilog("find", "t-0", 0), 1, "it is empty, and offset 0 comes next")


WRONG = [
    ("orders-0 -1", "-1 is no offset"),
    ("orders-0 -12", "-12 is no offset"),
    ("orders-0 9223372036854775808", "is no offset"),
    ("orders-0 x", "'x' is no offset"),
    ("orders 1", "write TOPIC-PARTITION, like orders-0"),
    ("orders- 1", "write TOPIC-PARTITION, like orders-0"),
    ("orders-01 1", "write TOPIC-PARTITION, like orders-0"),
    ("orders-1 1", "[0, 0]"),
    ("other-0 1", "Topic other doesn't exist"),
    ("orders-0 1 --explian", "--explian"),
]


def test_find_bad_input_is_one_line(orders):
    assert_refused(orders, orders.log_dir.parent, WRONG, "find")


def test_find_after_damage_is_one_line_that_names_the_place(orders):
    log = orders.log_dir / "orders-0" / ("0" * 20 + ".log")
    flip_byte(log, 20, mask=1)
    assert_one_line(orders("find", "orders-0", 0), 2, f"{log}, byte 0: damaged")


def test_find_explain_of_an_offset_that_is_not_there_shows_the_search_and_says_no(orders):
    run = orders("find", "orders-0", "99999", "--explain")
    assert run.code == 1
    assert "offset 99999 is out of range" in run.err
    text = " ".join(run.out.split())
    assert re.search(r"Slot \d is \d+: \d+ < 99999. The search goes on to the right of it", text)
    assert re.search(r"Entry \d is for \d+: \d+ < \d+. The search goes on to the right of it", text)
    last = LogDir(orders.log_dir).reader(TopicPartition("orders", 0)).segments()[-1]
    stands = [int(at) for at in re.findall(r"The message at byte (\d+) has offset", text)]
    start = stands[0]
    assert stands == [at for at, _ in last.scan(start)]
    assert "Offset 99999 is not in the log, which holds offsets 0 to 19" in text


# ---- `find --key`: all messages with a key, in one partition or in a whole topic


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


@pytest.mark.parametrize("lose", [*AT_START, *AT_END])
def test_find_key_in_a_log_that_has_lost_messages_says_so_and_ends_with_1(orders, lose):
    lose(orders.log_dir / "orders-0")
    gone = "retention has not deleted" if lose in AT_START else "on the disk, the log ends before"
    run = orders("find", "orders", "--key", "key9")
    assert (run.code, run.out.count("key9")) == (1, 0 if lose is all_segments else 1)
    told = run.err.splitlines()[0]
    assert (told.startswith("kminilog: orders-0: offset"), gone in told) == (True, True)
    assert len(run.err.splitlines()) == 1 + (lose is all_segments)


@pytest.mark.parametrize(("lose", "offset"), [(AT_START[0], 3), *((lose, 19) for lose in AT_END)])
def test_find_offset_that_the_log_has_lost_says_so(orders, lose, offset):
    lose(orders.log_dir / "orders-0")
    gone = "retention has not deleted" if lose in AT_START else "on the disk, the log ends before"
    assert_one_line(orders("find", "orders-0", offset), 1, f"offset {offset} is out of range", gone)
    assert gone not in orders("find", "orders-0", 99).err


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


@pytest.mark.processes
def test_find_key_into_a_closed_pipe_ends_quietly(orders):
    orders.ok("produce", "orders", "--key-separator", ":", stdin=b"key:value\n" * 3000)
    process = orders.start("find", "orders", "--key", "key")
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    assert process.wait() == 141
    assert process.stderr.read() == b""
    process.stderr.close()


WRONG_KEYS = [
    ("orders-0", "give an OFFSET, or a key with --key"),
    ("orders", "give an OFFSET, or a key with --key"),
    ("orders-0 3 --key k", "no OFFSET"),
    ("orders-0 --key k --explain", "no --explain"),
    ("orders-0 --key", "--key"),
    ("other --key k", "Topic other doesn't exist"),
    ("orders-1 --key k", "[0, 0]"),
    ("'' --key k", "''"),
    ("'größe' --key k", "größe"),
    ("../orders --key k", "../orders"),
]


def test_find_key_bad_input_is_one_line(orders):
    assert_refused(orders, orders.log_dir.parent, WRONG_KEYS, "find")
