"""docs/format.md shows bytes: these tests make the same bytes with the code, and the other way."""

import re
import shlex
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.index_entry import IndexEntry, decode_entries, encode_entry
from kminilog.format.message import Message, decode, encode, encoded_bytes, scan
from kminilog.settings import TOPIC_SETTINGS
from kminilog.storage.segment.damage_scan import repaired_size

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text()
DUMP = re.compile(r"<!-- dump: (\w+) -->\n```text\n(.*?)```", re.DOTALL)
LINE = re.compile(r"([0-9a-f]{2})  ((?:[0-9a-f]{2} )*[0-9a-f]{2}) +(\w+(?: \w+)?) {2,}(.*)")


def read_dump(name: str) -> list[tuple[int, bytes, str, str]]:
    (text,) = [body for title, body in DUMP.findall(PAGE) if title == name]
    rows = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(rows), text
    return [(int(row[1], 16), bytes.fromhex(row[2]), row[3], row[4]) for row in rows if row]


@pytest.mark.parametrize("name", [*DIALECTS, "entry"])
def test_format_page_positions_follow_from_the_bytes(name):
    position = 0
    for at, data, _, _ in read_dump(name):
        assert at == position
        position += len(data)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_format_page_shows_the_bytes_that_the_code_makes(dialect):
    rows = read_dump(dialect.name)
    data = b"".join(row[1] for row in rows)
    assert encode(dialect, 368_772, b"alice", b"book") == data
    message = decode(dialect, data)
    assert isinstance(message, Message)
    shown = {field: meaning for _, _, field, meaning in rows}
    assert shown["offset"] == str(message.offset)
    assert shown["size"] == f"{message.size} bytes follow"
    assert shown["crc"] == f"of the {message.size - 4} bytes that follow"
    assert shown["key length"] == "5"
    assert (shown["key"], shown["value"]) == ("alice", "book")
    assert f"{len(data)} bytes" in PAGE


def test_format_page_shows_the_entry_that_the_code_reads():
    data = b"".join(row[1] for row in read_dump("entry"))
    assert decode_entries(data) == [IndexEntry(3, 497)]


def test_format_page_names_the_smallest_messages():
    smallest = [encoded_bytes(dialect, None, b"") for dialect in (DOCUMENTED, KAFKA)]
    assert f"{smallest[0]} bytes in the `documented` dialect and {smallest[1]} in `kafka`" in PAGE


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_format_page_downside_crc_covers_neither_offset_nor_size(dialect):
    data = encode(dialect, 1, b"alice", b"book")
    moved = decode(dialect, encode(dialect, 2, None, b"")[:8] + data[8:])
    assert isinstance(moved, Message)
    assert (moved.offset, moved.value) == (2, b"book")
    assert repaired_size(data[:8] + bytes(4) + data[12:]) == len(data) - 12  # the crc is right


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
def test_format_page_downside_a_log_that_is_cut_between_messages_looks_complete(dialect):
    data = encode(dialect, 0, None, b"a") + encode(dialect, 1, None, b"b")
    outcomes = [outcome for _, outcome in scan(dialect, data[: len(data) // 2])]
    assert [type(outcome) for outcome in outcomes] == [Message]


def test_format_page_downside_fields_of_an_index_are_32_bit():
    assert encode_entry(IndexEntry(2**31 - 1, 2**31 - 1)) == b"\x7f\xff\xff\xff" * 2
    with pytest.raises(struct.error):
        encode_entry(IndexEntry(0, 2**31))
    largest = TOPIC_SETTINGS["segment.bytes"].maximum
    assert f"`segment.bytes` ends at {largest:,}" in PAGE


def test_format_page_downside_names_of_documented_segments_collide_at_0():
    assert [dialect.name for dialect in DIALECTS.values() if not dialect.can_follow(0, 1)] == [
        "documented"
    ]


def test_format_page_commands_of_retention_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["topic", "create", "t", "--partitions", "1"]).exit_code == 0
    commands = re.findall(r"^\$ kminilog (.+)$", PAGE, re.MULTILINE)
    assert {"retain", "compact t"} <= {*commands}
    for command in commands:
        result = CliRunner().invoke(main, shlex.split(command))
        assert (result.exit_code, result.stderr) == (0, ""), command
