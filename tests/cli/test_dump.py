"""`dump`: every message and index entry, damage included, in all its formats."""

import gzip
import json
import random
import shutil
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest

from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import encode
from tests.support.cli.command_line import CommandLine, Run, assert_one_line, assert_refused
from tests.support.damage import (
    cut_to,
    files_of,
    flip_byte,
    message_positions,
    zero_range,
)
from tests.support.shared_data import shared_file

FIELDS = {
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


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A loose `.log` with five messages in the kafka dialect; each is 28 bytes long."""
    path = tmp_path / ("0" * 20 + ".log")
    path.write_bytes(b"".join(encode(KAFKA, offset, b"k", b"%d" % offset) for offset in range(5)))
    return path


def dump(kminilog: CommandLine, path: Path, *options: str) -> Run:
    return kminilog("dump", path, "--dialect", "kafka", *options)


def test_dump_json_has_the_fields_of_the_contract(kminilog, tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(encode(KAFKA, 7, None, b"\xff") + encode(KAFKA, 8, "ключ".encode(), None))
    first, second = kminilog.ok("dump", path, "--dialect", "kafka", "--json").records
    assert set(second) >= FIELDS
    data = path.read_bytes()
    assert {name: first[name] for name in ("offset", "position", "size", "crc")} == {
        "offset": 7,
        "position": 0,
        "size": 15,
        "crc": zlib.crc32(data[16:27]),
    }
    assert (first["key"], first["value_base64"]) == (None, "/w==")
    assert (first["key_size"], first["value_size"]) == (-1, 1)
    assert (second["position"], second["valid"]) == (27, True)
    assert (second["key"], second["value"]) == ("ключ", None)
    assert (second["key_size"], second["value_size"]) == (8, -1)


def test_dump_real_broker_segment_gives_what_its_authors_recorded(kminilog):
    expected = gzip.decompress(shared_file("kafka-0.8-segment/expected.txt.gz").read_bytes())
    path = shared_file("kafka-0.8-segment/00000000000000000000.log")
    records = kminilog.ok("dump", path, "--dialect", "kafka", "--json").records
    assert len(records) == 11_394
    assert all(record["valid"] and record["key"] is None for record in records)
    lines = [f"{record['offset']}: {json.dumps(record['value'])}" for record in records]
    assert lines == expected.decode().splitlines()


@pytest.mark.parametrize("dialect", ["documented", "kafka"])
def test_dump_takes_the_dialect_from_the_topic(kminilog, dialect, monkeypatch):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", dialect)
    kminilog.ok("produce", "t", stdin=b"value\n")
    monkeypatch.chdir(kminilog.log_dir / "t-0")
    (record,) = kminilog.ok("dump", "0" * 20 + ".log", "--json").records
    assert record["value"] == "value"


def test_dump_takes_a_loose_file_as_documented(kminilog, tmp_path):
    path = tmp_path / "x.log"
    path.write_bytes(encode(DOCUMENTED, 0, None, b"value"))
    run = kminilog("dump", path, "--json")
    assert (run.code, run.records[0]["value"]) == (0, "value")
    assert run.records[0]["dialect"] == "documented"
    assert run.records[0]["dialect_source"] == "bytes"
    assert_said(run.err, "dialect documented: a value length stands after the key in 0 of 1 ")


def assert_said(err: str, words: str) -> None:
    (line,) = err.splitlines()
    assert words in line


@pytest.mark.parametrize("options", [[], ["--json"], ["--format", "kafka"], ["--at", 0]], ids=str)
def test_dump_without_a_topic_names_the_dialect_that_it_sees(kminilog, log, options):
    run = kminilog("dump", log, *options)
    assert run.code == 0
    assert_said(run.err, "dialect kafka: a value length stands after the key in 5 of 5 messages")
    assert run.out == dump(kminilog, log, *options).out.replace('"option"', '"bytes"')


def test_dump_of_unclear_bytes_names_the_option_that_decides(kminilog, log):
    cut_to(log, 28)
    run = kminilog("dump", log, "--json")
    assert (run.code, run.records[0]["dialect_source"]) == (0, "unclear")
    assert_said(run.err, "dialect kafka is assumed, not clear: a value length stands after the key")
    assert_said(run.err, "in 1 of 1 messages; --dialect decides")


def test_dump_of_an_index_sees_the_dialect_in_the_log_beside_it(kminilog, log):
    index = log.with_suffix(".index")
    index.write_bytes(struct.pack(">ii", 1, 28))
    run = kminilog("dump", index, "--offset", 1, "--json")
    (record,) = run.records
    assert (record["log_offset"], record["dialect"], record["dialect_source"]) == (
        1,
        "kafka",
        "bytes",
    )
    assert_said(run.err, f"{log}: dialect kafka")
    assert kminilog.ok("dump", index, "--json").records[0]["offset"] == 1


def test_dump_text_shows_data_only_when_asked(kminilog, log):
    plain = kminilog.ok("dump", log, "--dialect", "kafka").out.splitlines()
    assert len(plain) == 5
    assert plain[1].startswith("offset 1, byte 28: size 16, crc ")
    assert plain[1].endswith("key 1 byte, value 1 byte")
    with_data = kminilog.ok("dump", log, "--dialect", "kafka", "--print-data").out.splitlines()
    assert with_data[:2] == [plain[0], '    key "k", value "0"']


def test_dump_hex_shows_every_byte(kminilog, log):
    lines = kminilog.ok("dump", log, "--dialect", "kafka", "--hex").out.splitlines()
    rows = [line for line in lines if line.startswith("  ")]
    assert b"".join(bytes.fromhex(row[12:59]) for row in rows) == log.read_bytes()
    records = kminilog.ok("dump", log, "--dialect", "kafka", "--hex", "--json").records
    assert b"".join(bytes.fromhex(record["hex"]) for record in records) == log.read_bytes()


def test_dump_empty_log_prints_nothing(kminilog, log):
    log.write_bytes(b"")
    assert kminilog.ok("dump", log, "--json", "--dialect", "kafka").out == ""
    run = kminilog("dump", log, "--json")
    assert (run.code, run.out) == (0, "")
    assert_said(run.err, "dialect documented is assumed, not clear: no whole message of format v0")


# ---- damage


def damaged(run: Run, slot: int) -> dict[str, object]:
    """The record of the only damage in a dump, at a place among its lines."""
    assert run.code == 1, run
    assert [n for n, record in enumerate(run.records) if not record["valid"]] == [slot]
    record = run.records[slot]
    assert set(record) >= FIELDS | {"fault", "detail", "skipped_bytes"}
    return record


def test_dump_bad_crc_shows_what_stands_there_and_goes_on(kminilog, log):
    flip_byte(log, 2 * 28 + 27, mask=1)
    run = dump(kminilog, log, "--json")
    record = damaged(run, 2)
    assert [record["offset"] for record in run.records] == [0, 1, 2, 3, 4]
    assert (record["position"], record["fault"], record["skipped_bytes"]) == (56, "bad-crc", 28)
    assert (record["key"], record["value"], record["value_size"]) == ("k", "3", 1)
    assert record["crc"] == int.from_bytes(log.read_bytes()[68:72])


def test_dump_torn_tail_is_shown_with_what_is_known(kminilog, log):
    cut_to(log, 5 * 28 - 3)
    record = damaged(dump(kminilog, log, "--json"), 4)
    assert (record["fault"], record["offset"], record["size"]) == ("torn-tail", 4, 16)
    assert (record["key"], record["value"], record["skipped_bytes"]) == (None, None, 25)


def test_dump_torn_tail_of_few_bytes_has_no_header(kminilog, log):
    cut_to(log, 4 * 28 + 10)
    record = damaged(dump(kminilog, log, "--json"), 4)
    assert (record["fault"], record["offset"], record["size"]) == ("torn-tail", 4, None)


@pytest.mark.parametrize("place", [[], ["--at", 0, "--hex"], ["--offset", 0]])
def test_dump_of_a_topics_log_shows_whatever_is_left_of_it(kminilog, place):
    kminilog.ok("topic", "create", "t", "--partitions", 1)
    kminilog.ok("produce", "t", stdin=b"value\n")
    log = kminilog.log_dir / "t-0" / ("0" * 20 + ".log")
    cut_to(log, 20)
    run = kminilog("dump", log, *place)
    assert (run.code, run.err) == (1, "")
    assert run.out.startswith("offset 0, byte 0: DAMAGED, torn-tail: ")
    assert_one_line(kminilog("dump", shutil.copy(log, kminilog.log_dir)), 2, "no message in 20")


def test_dump_bad_magic_is_named(kminilog, log):
    flip_byte(log, 28 + 16, value=2)
    record = damaged(dump(kminilog, log, "--json"), 1)
    assert (record["fault"], record["magic"]) == ("bad-magic", 2)


def test_dump_wrong_size_is_named_and_the_next_message_found(kminilog, log):
    flip_byte(log, 28 + 11, value=200)
    run = dump(kminilog, log, "--json")
    record = damaged(run, 1)
    assert (record["fault"], record["size"], record["skipped_bytes"]) == ("bad-length", 200, 28)
    assert [record["offset"] for record in run.records] == [0, 1, 2, 3, 4]


def test_dump_zeros_at_the_end_are_one_damage(kminilog, log):
    zero_range(log, 5 * 28, 5 * 28 + 100)
    record = damaged(dump(kminilog, log, "--json"), 5)
    assert (record["fault"], record["skipped_bytes"]) == ("bad-length", 100)


def test_dump_only_message_damaged_is_still_a_log(kminilog, log):
    cut_to(log, 28)
    flip_byte(log, 27, mask=1)
    damaged(dump(kminilog, log, "--json"), 0)


def test_dump_damage_in_text_is_a_line(kminilog, log):
    flip_byte(log, 27, mask=1)
    run = dump(kminilog, log, "--hex")
    assert run.code == 1
    assert run.out.startswith("offset 0, byte 0: DAMAGED, bad-crc: crc is ")
    assert len([line for line in run.out.splitlines() if "DAMAGED" in line]) == 1


# ---- compressed messages


def wrapper(dialect: Dialect, codec: int, inner: bytes, last_offset: int) -> bytes:
    return encode(dialect, last_offset, None, inner, attributes=codec)


@pytest.fixture
def compressed(log: Path) -> Path:
    """The five messages of `log` in one gzip message, and a plain one after it."""
    inner = gzip.compress(log.read_bytes(), mtime=0)
    log.write_bytes(wrapper(KAFKA, 1, inner, 4) + encode(KAFKA, 5, b"k", b"5"))
    return log


def test_dump_names_the_codec(kminilog, compressed):
    first, second = dump(kminilog, compressed, "--json").records
    assert (first["codec"], first["attributes"], first["offset"]) == ("gzip", 1, 4)
    assert (second["codec"], second["attributes"]) == ("none", 0)
    assert "compressed with gzip" in dump(kminilog, compressed).out.splitlines()[0]


def test_dump_deep_opens_gzip(kminilog, compressed):
    *inner, last = kminilog.ok("dump", compressed, "--dialect", "kafka", "--deep", "--json").records
    assert [(r["offset"], r["value"], r["position"]) for r in inner] == [
        (offset, str(offset), 0) for offset in range(5)
    ]
    assert all(record["deep"] is True for record in inner)
    assert (last["offset"], "deep" in last) == (5, False)


def test_dump_deep_finds_damage_inside(kminilog, log):
    flip_byte(log, 28 + 27, mask=1)
    inner = gzip.compress(log.read_bytes(), mtime=0)
    log.write_bytes(wrapper(KAFKA, 1, inner, 4))
    run = dump(kminilog, log, "--deep", "--json")
    assert run.code == 1
    assert [record["valid"] for record in run.records] == [True, False]


@pytest.mark.parametrize("form", [[], ["--format", "kafka"]])
def test_dump_deep_opens_all_members_of_gzip_and_skips_zero_bytes(kminilog, log, tmp_path, form):
    data = log.read_bytes()
    members = [gzip.compress(part, mtime=0) for part in (data[:40], data[40:41], b"", data[41:])]
    expected = dump(kminilog, log, *(form or ["--json"])).out
    log.write_bytes(wrapper(KAFKA, 1, b"".join(members) + bytes(300), 4))
    run = dump(kminilog, log, "--deep", *(form or ["--json"]))
    assert (run.code, run.err) == (0, "")
    if form:
        crcs = [line.split("crc: ")[1] for line in run.out.splitlines()[2:]]
        assert crcs == [line.split("crc: ")[1] for line in expected.splitlines()[2:]]
    else:
        assert [record["value"] for record in run.records] == ["0", "1", "2", "3", "4"]


def test_dump_deep_of_rubbish_after_gzip_says_that_it_is_damaged(kminilog, log):
    packed = gzip.compress(log.read_bytes(), mtime=0)
    log.write_bytes(wrapper(KAFKA, 1, packed + b"rubbish", 4))
    run = dump(kminilog, log, "--deep", "--json")
    assert [record["valid"] for record in run.records] == [True] * 5 + [False]
    assert "they are damaged" in run.records[5]["detail"]


def test_dump_deep_reports_gzip_that_cannot_be_opened(kminilog, log):
    log.write_bytes(wrapper(KAFKA, 1, b"no gzip", 4) + encode(KAFKA, 5, b"k", b"5"))
    record = damaged(dump(kminilog, log, "--deep", "--json"), 0)
    assert record["fault"] == "bad-compression"


@pytest.mark.parametrize("value", [None, b"", gzip.compress(b"", mtime=0), bytes(300)])
def test_dump_deep_of_a_compressed_message_without_messages_is_damage(kminilog, log, value):
    log.write_bytes(encode(KAFKA, 0, b"k", value, attributes=1) + encode(KAFKA, 1, b"k", b"5"))
    run = dump(kminilog, log, "--deep", "--json")
    assert (run.code, [record["valid"] for record in run.records]) == (1, [False, True])
    assert run.records[0]["fault"] == "bad-compression"


@pytest.mark.parametrize(
    "rest",
    [bytes(40), bytes(3), b"\xff" * 40, encode(KAFKA, 5, b"", b"")[:-1]],
    ids=["zeros", "few", "size below 0", "cut"],
)
def test_dump_deep_in_kafkas_format_goes_on_after_damage_inside(kminilog, log, rest):
    inner = gzip.compress(log.read_bytes() + rest, mtime=0)
    log.write_bytes(wrapper(KAFKA, 1, inner, 4) + encode(KAFKA, 9, b"k", b"9"))
    run = dump(kminilog, log, "--deep", "--format", "kafka", "--print-data")
    payloads = [line[-1] for line in run.out.splitlines() if line.startswith("offset: ")]
    assert payloads == ["0", "1", "2", "3", "4", "9"]
    where = f"kminilog: {log}, offset 4, byte 0"
    told = f"{where}: damage inside the message; the rest of it is not shown\n"
    assert (run.code, run.err) == (1, told)


def test_dump_deep_in_kafkas_format_goes_on_after_gzip_that_cannot_be_opened(kminilog, log):
    log.write_bytes(wrapper(KAFKA, 1, b"no gzip", 4) + encode(KAFKA, 5, b"k", b"5"))
    run = dump(kminilog, log, "--deep", "--format", "kafka")
    assert run.out.splitlines()[2].startswith("offset: 5 ")
    where = f"kminilog: {log}, offset 4, byte 0"
    assert run.err.startswith(f"{where}: the gzip data cannot be opened: ")
    assert (run.code, run.err.count("\n")) == (1, 1)


INNER_BYTES = 28  # of each message in `log`


@pytest.mark.parametrize(
    ("limit_bytes", "shown"),
    [(5 * INNER_BYTES, 5), (5 * INNER_BYTES - 1, 4), (2 * INNER_BYTES, 2), (5, 0), (0, 0)],
)
@pytest.mark.parametrize("line_format", ["json", "text", "kafka"])
def test_dump_deep_beyond_the_limit_says_what_is_not_shown(
    kminilog, compressed, limit_bytes, shown, line_format
):
    form = ["--json"] if line_format == "json" else ["--format", line_format]
    run = dump(kminilog, compressed, "--deep", *form, "--max-unpacked", limit_bytes)
    lines = [line for line in run.out.splitlines() if "offset" in line and "Starting" not in line]
    assert len(lines) == shown + 1, run  # the plain message after it is shown in any case
    if shown == 5:
        assert (run.code, run.err) == (0, "")
        return
    assert run.code == 2
    assert run.err == (
        f"kminilog: {compressed}, offset 4, byte 0: the message holds more than "
        f"{limit_bytes} bytes; the rest is not shown; raise --max-unpacked\n"
    )


def test_dump_deep_needs_memory_for_one_message_inside_whatever_they_are_together(kminilog, log):
    inner = b"".join(encode(KAFKA, offset, None, bytes(1 << 20)) for offset in range(48))
    log.write_bytes(wrapper(KAFKA, 1, gzip.compress(inner, mtime=0), 47))
    del inner
    tracemalloc.start()
    try:
        run = dump(kminilog, log, "--deep")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (run.code, len(run.out.splitlines())) == (0, 48)
    assert peak_bytes < 16 << 20


def test_dump_deep_shows_what_is_in_front_of_where_the_gzip_ends_too_early(kminilog, log):
    inner = encode(KAFKA, 0, None, b"0") + encode(KAFKA, 1, None, random.Random(1).randbytes(900))
    packed = gzip.compress(inner, mtime=0)[:-300]
    log.write_bytes(wrapper(KAFKA, 1, packed, 1) + encode(KAFKA, 2, b"k", b"2"))
    run = dump(kminilog, log, "--deep", "--json")
    assert run.code == 1
    assert [(r["offset"], r["valid"]) for r in run.records] == [(0, True), (1, False), (2, True)]
    assert "they are cut off" in run.records[1]["detail"]


@pytest.mark.parametrize(("codec", "name"), [(2, "snappy"), (3, "lz4")])
@pytest.mark.parametrize("line_format", ["text", "kafka"])
def test_dump_deep_refuses_other_codecs_in_one_line(kminilog, log, codec, name, line_format):
    log.write_bytes(wrapper(KAFKA, codec, b"...", 4))
    run = dump(kminilog, log, "--deep", "--format", line_format)
    assert run.code == 2
    assert run.err.startswith(f"kminilog: {log}, byte 0: a message compressed with {name}; only")
    assert run.err.count("\n") == 1
    assert dump(kminilog, log, "--format", line_format).code == 0


@pytest.mark.parametrize("command", [["consume", "t", "--max-messages", 1], ["find", "t-0", 0]])
def test_compressed_message_is_refused_in_one_line_elsewhere(kminilog, compressed, command):
    kminilog.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    shutil.copy(compressed, kminilog.log_dir / "t-0")
    assert_one_line(kminilog(*command), 2, "compressed with gzip", "dump --deep")


# ---- indexes


def test_dump_index_has_absolute_and_relative_offsets(orders):
    path = orders.log_dir / "orders-0" / "00000000000000000005.index"
    assert orders.ok("dump", path, "--json").records == [
        {"offset": 8, "position": 64, "relative_offset": 3, "index_position": 0},
        {"offset": 10, "position": 128, "relative_offset": 5, "index_position": 8},
    ]
    assert orders.ok("dump", path).out.splitlines()[0] == "offset 8, byte 64 (relative 3)"


def test_dump_index_hex_shows_the_bytes_of_each_entry(orders):
    path = orders.log_dir / "orders-0" / "00000000000000000005.index"
    path.write_bytes(path.read_bytes() + b"\xff")
    lines = orders("dump", path, "--hex").out.splitlines()
    assert lines[:4] == [
        "offset 8, byte 64 (relative 3)",
        "  00000000  00 00 00 03 00 00 00 40                          |.......@|",
        "offset 10, byte 128 (relative 5)",
        "  00000008  00 00 00 05 00 00 00 80                          |........|",
    ]
    assert lines[5] == "  00000016  ff" + " " * 47 + "|.|"
    assert [record["hex"] for record in orders("dump", path, "--hex", "--json").records] == [
        "0000000300000040",
        "0000000500000080",
        "ff",
    ]


@pytest.mark.parametrize(
    ("tail", "detail"),
    [
        (bytes(1), "the index ends with 1 byte that is no entry"),
        (bytes(3), "the index ends with 3 bytes that are no entry"),
        (bytes(16), "entry 2, (0, 0), does not ascend"),
        (bytes([0, 0, 0, 6, 0, 0, 0, 128]), "entry 2, (6, 128), does not ascend"),
    ],
)
def test_dump_invalid_index_shows_the_valid_entries_and_why_it_stops(orders, tail, detail):
    path = orders.log_dir / "orders-0" / "00000000000000000005.index"
    path.write_bytes(path.read_bytes() + tail)
    run = orders("dump", path, "--json")
    assert run.code == 1
    assert [record["offset"] for record in run.records] == [8, 10, None]
    assert run.records[-1]["detail"] == detail
    assert run.records[-1]["skipped_bytes"] == len(tail)
    assert "DAMAGED" in orders("dump", path).out


@pytest.mark.parametrize("first", [(3, -256), (3, 0), (-1, 64)])
def test_dump_index_that_begins_with_an_invalid_entry_reads_no_message(orders, first):
    path = orders.log_dir / "orders-0" / "00000000000000000005.index"
    path.write_bytes(struct.pack(">iiii", *first, 5, 128))
    for place in ([], ["--at", 3]):
        run = orders("dump", path, *place)
        assert (run.code, run.err) == (1, "")
        assert run.out.startswith(f"DAMAGED, index-order: entry 0, {first}, does not ascend; ")
    assert orders.ok("dump", path, "--format", "kafka").out == f"Dumping {path}\n"
    assert_one_line(orders("dump", path, "--offset", 8), 1, "no entry for offset 8 or below")


# ---- Kafka's own lines (tests/conformance compares them with the real tool)


@pytest.mark.parametrize("left_bytes", [0, 7])
def test_dump_kafka_format_of_an_entry_past_the_end_finds_no_offset_there(orders, left_bytes):
    """Fewer than eight bytes are no offset, not even 0 where they are none."""
    path = orders.log_dir / "orders-0" / "00000000000000000000.index"
    path.write_bytes(struct.pack(">ii", 0, 64))
    with open(path.with_suffix(".log"), "r+b") as log:
        log.truncate(64 + left_bytes)
    run = orders("dump", path, "--format", "kafka")
    assert run.err == f"Mismatches in :{path}\n  Index offset: 0, log offset: -1\n"


def test_dump_kafka_format_prints_the_known_line(kminilog, log):
    log.write_bytes(encode(KAFKA, 0, None, b"message1"))
    out = dump(kminilog, log, "--format", "kafka", "--print-data").out
    assert out.splitlines() == [
        f"Dumping {log}",
        "Starting offset: 0",
        "offset: 0 position: 0 isvalid: true payloadsize: 8 magic: 0 "
        "compresscodec: NoCompressionCodec crc: 3916773564 payload: message1",
    ]


def test_dump_kafka_format_of_damage_ends_with_1(kminilog, log):
    flip_byte(log, 27, mask=1)
    run = kminilog("dump", log, "--format", "kafka")
    assert run.code == 1
    assert " isvalid: false " in run.out


def test_dump_kafka_format_names_a_torn_tail(kminilog, log):
    cut_to(log, 5 * 28 - 1)
    run = kminilog("dump", log, "--format", "kafka")
    assert run.code == 1
    assert run.out.splitlines()[-1] == f"Found 27 invalid bytes at the end of {log.name}"


def test_dump_kafka_format_complains_on_stderr_about_a_gap(kminilog, log):
    log.write_bytes(encode(KAFKA, 0, None, b"") + encode(KAFKA, 5, None, b""))
    run = dump(kminilog, log, "--format", "kafka")
    assert run.code == 1
    assert run.err == f"Non-secutive offsets in :{log}\n  0 is followed by 5\n"


# ---- what cannot be dumped


NO_LOGS = {
    "notes.txt": b"hello\n",
    "notes.log": b"hello, this is a text file and no log\n",
    "short.log": b"hi\n",
    f"{0:020d}.log": b"hello, a text file" * 9,
    "copy.log": encode(KAFKA, 0, None, b""),
    "copy.index": bytes(8),
    "x.log": b"",
    "x.index": b"",
}
WRONG = [
    ("notes.txt", "neither a .log nor an .index file"),
    ("notes.log", "no message in 38 bytes"),
    ("short.log", "no message in 3 bytes"),
    (f"{0:020d}.log --format kafka", "no message in"),
    ("copy.log --format kafka", "20 digits"),
    ("copy.index", "20 digits"),
    ("x.log --format kafka --json", "not JSON"),
    ("x.log --format kafka --hex", "drop one of --format and --hex"),
    ("x.index --format kafka --hex", "drop one of --format and --hex"),
    ("x.log --format csv", "'csv'"),
    ("x.log --dialect latin", "'latin'"),
]


def test_dump_bad_input_is_one_line(kminilog, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, content in NO_LOGS.items():
        Path(name).write_bytes(content)
    assert_refused(kminilog, tmp_path, WRONG, "dump")


def test_dump_missing_file_and_directory_are_one_line(kminilog, tmp_path):
    assert_one_line(kminilog("dump", tmp_path / "no.log"), 2, "no.log", "does not exist")
    (tmp_path / "dir.log").mkdir()
    assert_one_line(kminilog("dump", tmp_path / "dir.log"), 2, "dir.log", "is a directory")


def test_dump_changes_nothing(orders):
    before = files_of(orders.log_dir)
    for path in sorted((orders.log_dir / "orders-0").iterdir()):
        orders.ok("dump", path)
    assert files_of(orders.log_dir) == before


def test_dump_positions_are_those_of_the_file(orders):
    path = orders.log_dir / "orders-0" / ("0" * 20 + ".log")
    positions = [record["position"] for record in orders.ok("dump", path, "--json").records]
    assert positions == message_positions(path.read_bytes())[:-1]


@pytest.mark.parametrize("of", [DOCUMENTED, KAFKA], ids=lambda d: d.name)
def test_step_record_without_a_topic_sees_the_dialect(kminilog, tmp_path, of):
    log, index = tmp_path / f"{0:020d}.log", tmp_path / f"{0:020d}.index"
    log.write_bytes(b"".join(encode(of, offset, b"k", b"text") for offset in range(5)))
    index.write_bytes(struct.pack(">ii", 1, log.stat().st_size // 5))
    run = kminilog("step", "record", log, "--json")
    assert run.code == 0
    assert_said(run.err, f"{log}: dialect {of.name}: ")
    fields = {field["name"] for field in run.document["fields"]}
    assert ("value-length" in fields or "value length" in fields) is of.has_value_length
    run = kminilog("step", "record", index)
    assert_said(run.err, f"{log}: dialect {of.name}: ")
    assert "its message" in run.out
    other = kminilog.ok("step", "record", index, "--dialect", of.name)
    assert other.out == run.out
