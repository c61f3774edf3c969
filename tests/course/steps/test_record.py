import random
import re
import struct
import tempfile
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.cli.main import main
from kminilog.cli.step.command import scene_command
from kminilog.course.steps import entry, record
from kminilog.explain.document import Document
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import Message, decode, encode
from kminilog.settings import TopicSettings
from kminilog.storage.topics import Topic
from kminilog.verification.findings import FindingClass
from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import made, words_of

FINDINGS = {"ok", *FindingClass}
dialects = st.sampled_from([DOCUMENTED, KAFKA])
LOG, INDEX = "00000000000000000000.log", "00000000000000000007.index"


@st.composite
def logs(draw) -> bytes:
    """Whole messages, often with a change: what random bytes alone would never be."""
    dialect = draw(dialects)
    values = draw(st.lists(st.binary(max_size=80), max_size=20))
    data = bytearray(b"".join(encode(dialect, n, None, v) for n, v in enumerate(values)))
    for position in draw(st.lists(st.integers(0, max(len(data) - 1, 0)), max_size=3)):
        if data:
            data[position] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))] + draw(st.binary(max_size=40)))


def of_bytes(data: bytes, name: str, dialect=KAFKA, at=None) -> Document:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, name)
        path.write_bytes(data)
        return entry.document(path, at) if name == INDEX else record.document(path, dialect, at)


@pytest.mark.usefixtures("without_writers")
@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=4096) | logs(), dialects, st.data())
def test_record_of_any_bytes_ends_in_a_finding_at_a_range(data, dialect, draw):
    at = draw.draw(st.none() | st.integers(0, max(len(data) - 1, 0))) if data else None
    document = of_bytes(data, LOG, dialect, at)
    final = document.final.values
    assert final["finding"] in FINDINGS
    if data:
        assert 0 <= final["start"] < final["end"] <= len(data)
        assert at is None or final["start"] <= at < final["end"]
        whole = decode(dialect, data[final["start"] : final["end"]])
        assert (final["finding"] == "ok") == isinstance(whole, Message)


@pytest.mark.usefixtures("without_writers")
@settings(max_examples=500, deadline=None)
@given(st.binary(max_size=4096), st.data())
def test_record_of_any_bytes_as_an_index_ends_in_a_finding_at_a_range(data, draw):
    at = draw.draw(st.none() | st.integers(0, max(len(data) - 1, 0))) if data else None
    final = of_bytes(data, INDEX, at=at).final.values
    assert final["finding"] in FINDINGS
    if data:
        assert 0 <= final["start"] < final["end"] <= len(data)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=30), min_size=1, max_size=30), dialects, st.data())
def test_record_shows_the_message_that_holds_the_byte(values, dialect, draw):
    messages = [encode(dialect, n, b"k", value) for n, value in enumerate(values)]
    number = draw.draw(st.integers(0, len(messages) - 1))
    start = sum(map(len, messages[:number]))
    at = start + draw.draw(st.integers(0, len(messages[number]) - 1))
    final = of_bytes(b"".join(messages), LOG, dialect, at).final.values
    message = decode(dialect, messages[number])
    assert (final["start"], final["end"]) == (start, start + len(messages[number]))
    assert (final["offset"], final["crc"]) == (number, message.crc)


def test_record_says_what_verify_says_of_damage():
    data = bytearray(b"".join(encode(KAFKA, n, None, b"value") for n in range(5)))
    data[90] ^= 1
    document = of_bytes(bytes(data), LOG)
    assert document.final.values["finding"] == "bad-crc"
    assert (document.final.values["start"], document.final.values["end"]) == (62, 93)


@pytest.mark.parametrize("dialect", [DOCUMENTED, KAFKA])
def test_record_looks_at_the_damage_from_its_first_step_on(dialect):
    data = bytearray(b"".join(encode(dialect, n, None, b"value") for n in range(50)))
    size = len(data) // 50
    data[33 * size + 20] ^= 1
    (focus,) = of_bytes(bytes(data), LOG, dialect).steps[0].focus
    assert (focus.start, focus.end) == (33 * size, 34 * size)
    (focus,) = of_bytes(bytes(data), LOG, dialect, 7 * size + 9).steps[0].focus
    assert (focus.start, focus.end) == (7 * size, 7 * size + 8)
    assert not of_bytes(bytes(data), LOG, dialect, 3).steps[0].focus


def test_record_of_an_index_looks_at_its_entry_from_the_first_step_on():
    entries = b"".join(bytes([0, 0, 0, n, 0, 0, 1, n]) for n in range(1, 200))
    (focus,) = of_bytes(entries + entries[:8], INDEX).steps[0].focus
    assert (focus.start, focus.end) == (len(entries), len(entries) + 8)


def test_record_of_an_index_says_where_it_is_not_believed():
    good = bytes.fromhex("00000003 000001f1 00000006 0000057f")
    assert of_bytes(good, INDEX).final.values["finding"] == "ok"
    for bad, start in ((good + good[:8], 16), (good + b"\x00", 16), (good[:8] * 2 + b"\x00", 8)):
        final = of_bytes(bad, INDEX).final.values
        assert (final["finding"], final["start"], final["end"]) == ("index-order", start, len(bad))


def test_record_without_a_file_is_the_message_of_the_format_page_in_a_dialect():
    assert made("record") == scene_command("record").document(["--dialect", "documented"])
    for name, dialect in NAMED.items():
        document = scene_command("record").document(["--dialect", name])
        assert document.files[0].data == encode(dialect, 368772, b"alice", b"book")
        assert f"{368771 + (name == 'kafka'):020}.log" == document.files[0].name
        assert document.final.values["finding"] == "ok"


def test_record_does_not_call_a_torn_tail_damage(tmp_path):
    (tmp_path / LOG).write_bytes(
        encode(KAFKA, 0, None, b"whole") + encode(KAFKA, 1, None, b"torn")[:20]
    )
    document = record.document(tmp_path / LOG, KAFKA)
    assert "Bytes 31 to 50 are no whole message." in document.steps[0].say
    assert document.final.values["finding"] == "torn-tail"


@pytest.mark.parametrize(("size", "name"), [(2, "offset"), (10, "size"), (13, "crc")])
def test_record_says_that_a_number_is_cut(tmp_path, dialect, size, name):
    (tmp_path / LOG).write_bytes(encode(dialect, 1, None, b"torn")[:size])
    document = record.document(tmp_path / LOG, dialect)
    assert f"the beginning of the {name}. The bytes end before it does." in document.steps[-2].say
    assert not [step.say for step in document.steps if "None" in step.say]


def test_record_takes_the_dialect_of_the_topic(tmp_path):
    commands = CommandLine(tmp_path / "log-dir")
    commands.ok("topic", "create", "t", "--partitions", 1, "--dialect", "kafka")
    commands.ok("produce", "t", stdin=b"one\ntwo\n")
    log = next(commands.log_dir.glob("t-0/*.log"))
    fields = commands.ok("step", "record", log, "--at", 40, "--json").document["fields"]
    assert [field["value"] for field in fields if field["name"] == "value length"] == [3, 3]


@pytest.mark.parametrize("name", [LOG, INDEX])
def test_record_of_a_byte_behind_the_end_is_one_line(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(bytes(8))
    run = CommandLine(tmp_path / "log-dir")("step", "record", path, "--at", 8)
    assert_one_line(run, 2, "has no byte 8: it has 8 bytes")


# ---- what is said, beside an oracle

NAMED = {"documented": DOCUMENTED, "kafka": KAFKA}
BY_KEY_LENGTH = {"offset": (0, ">q"), "size": (8, ">i"), "CRC": (12, ">I"), "magic byte": (16, "B")}
BY_KEY_LENGTH |= {"attributes": (17, "B"), "key length": (18, ">i")}


def damaged(chance: random.Random, dialect: str) -> bytes:
    """Return a log with one damage, or none: a byte, a missing end, zeros after it."""
    keys = (None, b"", b"k", bytes(9))
    parts = [
        oracle.encoded(dialect, offset, chance.choice(keys), value)
        for offset, value in enumerate(oracle.values(chance, chance.randint(1, 5), 90))
    ]
    data = bytearray(b"".join(parts))
    start = sum(map(len, parts[: chance.randrange(len(parts))]))
    match chance.choice(("none", "byte", "cut", "zeros")):
        case "byte":
            at = start + chance.choice((0, 8, 9, 11, 12, 15, 16, 17, 18, 21, 22))
            data[min(at, len(data) - 1)] ^= chance.choice((1, 128))
        case "cut":
            del data[start + chance.randint(1, 25) :]
        case "zeros":
            data += bytes(chance.choice((1, 12, 20, 40)))
    return bytes(data)


@pytest.mark.usefixtures("without_writers")
@pytest.mark.parametrize("seed", range(60))
def test_record_says_of_each_field_what_its_bytes_say(seed):
    chance = random.Random(seed)
    dialect = oracle.BOTH[seed % 2]
    data = damaged(chance, dialect)
    at = chance.choice((None, None, chance.randrange(len(data))))
    document = of_bytes(data, LOG, NAMED[dialect], at)
    start, end = (int(document.final.values[name]) for name in ("start", "end"))
    is_whole = oracle.is_whole(dialect, data, start)
    assert (document.final.values["finding"] == "ok") == is_whole
    for step in document.steps[1:-1]:
        check_field(step.say, data[start:end], start, is_whole)
    first = oracle.numbers(document.steps[0].say)
    assert first[0] == len(data)
    if is_whole:
        assert end == start + 12 + struct.unpack_from(">i", data, start + 8)[0]
        assert "no whole message" not in document.steps[0].say
    oracle.assert_one_thing_is_one(words_of(document))


def check_field(said: str, data: bytes, start: int, is_whole: bool) -> None:
    """Compare a sentence with the bytes of its message, which begins at byte `start`."""
    place = re.match(r"Bytes? (\d+)(?: to (\d+))?: ", said)
    low, high = int(place[1]) - start, int(place[2] or place[1]) + 1 - start
    number = re.search(r": the (.+?), (-?\d+)\.", said)
    if number and number[1] in BY_KEY_LENGTH:
        at, form = BY_KEY_LENGTH[number[1]]
        assert (low, int(number[2])) == (at, *struct.unpack_from(form, data, at)), said
    elif number:  # the value length stands after the key
        (key_length,) = struct.unpack_from(">i", data, 18)
        assert number[1] == "value length"
        assert low == 22 + max(key_length, 0)
        assert int(number[2]) == struct.unpack(">i", data[low:high])[0], said
    if "the CRC-32 of" in said:
        is_right = zlib.crc32(data[16:]) == struct.unpack_from(">I", data, 12)[0]
        assert ("It is the CRC-32" in said) == is_whole
        assert is_right or "It should be the CRC-32" in said, said
        assert oracle.numbers(said)[-1] == start + 16
    if "next message" in said:
        (size,) = struct.unpack_from(">i", data, 8)
        assert ("So the next message must begin" in said) == is_whole, said
        assert oracle.numbers(said)[-1] == start + 12 + size
    assert is_whole or not re.search(r": the (key|value): ", said), said


@pytest.mark.parametrize("dialect", oracle.BOTH)
def test_record_shows_the_bytes_of_a_value_that_is_no_text_and_of_a_long_one(dialect):
    for value in (b"\xff\x00", bytes(range(128, 256)) * 60):
        data = oracle.encoded(dialect, 0, None, value)
        said = of_bytes(data, LOG, NAMED[dialect]).steps[-2].say
        assert said.startswith(f"Bytes {len(data) - len(value)} to {len(data) - 1}: the value: b'")
        assert "\\\\" not in said
        assert len(value) < 60 or f"({len(value)} bytes)" in said


@pytest.mark.usefixtures("without_writers")
@pytest.mark.parametrize("seed", range(60))
def test_record_of_an_index_says_where_an_entry_leads_by_the_message_there(seed, tmp_path):
    chance = random.Random(seed)
    dialect, base = oracle.BOTH[seed % 2], chance.choice((0, 7))
    first = oracle.first_offset(dialect, base)
    parts = [
        oracle.encoded(dialect, first + n, None, b"v" * chance.randint(0, 90)) for n in range(12)
    ]
    log = b"".join(parts)
    held = oracle.places(dialect, log)
    entries = oracle.due(base, held, 60)
    slot = chance.randrange(len(entries))
    relative, position = entries[slot]
    above = entries[slot + 1][1] if slot + 1 < len(entries) else len(log) + 50
    false = chance.choice(
        (position, position + chance.choice((7, 8, 16)), chance.choice(held).start)
    )
    false = false if (entries[slot - 1][1] if slot else 0) < false < above else above - 1
    entries[slot] = (relative, false)
    data = b"".join(struct.pack(">ii", *one) for one in entries)
    (tmp_path / f"{base:020}.log").write_bytes(log)
    (path := tmp_path / f"{base:020}.index").write_bytes(data)
    document = entry.document(path, slot * 8)
    there = next((one.offset for one in held if one.start == false), None)
    leads = "its message" if there == base + relative else "another message"
    if there is None:
        leads = "no beginning of a whole message"
    (table,) = document.steps[-2].state.tables
    past = false >= len(log)
    told = "nothing, it is past the end" if past else leads
    assert table.rows == ((f"{base:020}.log", false, there, told),)
    found = "index-past-end" if past else "ok" if leads == "its message" else "index-position"
    assert document.final.values["finding"] == found
    assert oracle.numbers(document.steps[0].say)[:2] == [len(data), len(entries)]
    assert oracle.numbers(document.steps[2].say) == [slot * 8 + 4, slot * 8 + 7, false, false]
    oracle.assert_one_thing_is_one(words_of(document))


def test_record_of_much_damage_says_how_much_of_it_is_shown():
    data = bytearray(oracle.encoded("kafka", 0, None, b"v" * 6000))
    data[20] ^= 1
    said = of_bytes(bytes(data), LOG).steps[0].say
    assert said.endswith("no whole message. Only the first 4096 of them are shown by their fields.")


def test_record_of_an_index_takes_no_other_bytes_for_the_offset_of_a_message(tmp_path):
    log = b"".join(oracle.encoded("documented", n, None, b"1") for n in range(300))
    assert int.from_bytes(log[24:32]) == 256  # from the middle of message 1
    (tmp_path / LOG).write_bytes(log)
    (path := tmp_path / LOG.replace("log", "index")).write_bytes(struct.pack(">ii", 256, 24))
    final = entry.document(path).final
    assert final.values["finding"] == "index-position"


@pytest.mark.usefixtures("without_writers")
@pytest.mark.parametrize("seed", range(40))
def test_record_of_an_empty_index_says_if_the_rule_asks_for_an_entry(seed, tmp_path):
    chance = random.Random(seed)
    dialect = oracle.BOTH[seed % 2]
    sizes = [chance.choice((0, 10, 700)) for _ in range(chance.randint(0, 12))]
    interval = chance.choice((0, 100, 1000, 4096))
    log = b"".join(oracle.encoded(dialect, n, None, b"v" * size) for n, size in enumerate(sizes))
    (tmp_path / LOG).write_bytes(log)
    (path := tmp_path / LOG.replace("log", "index")).write_bytes(b"")
    config = TopicSettings(index_interval_bytes=interval)
    document = entry.document(path, None, Topic("t", dialect=NAMED[dialect], settings=config))
    due = oracle.due(0, oracle.places(dialect, log), interval)
    assert document.final.values["finding"] == ("index-sparse" if due else "ok")
    numbers = oracle.numbers(document.steps[0].say)
    assert numbers == ([*due[0], interval, 0] if due else [interval, 0])
    oracle.assert_one_thing_is_one(words_of(document))


def test_one_byte_in_focus_is_a_byte_and_no_range():
    shown = CliRunner().invoke(main, ["step", "record"]).stdout
    assert "00000000000000368771.log, byte 16\n" in shown
    assert re.search(r"bytes (\d+) to \1\b", shown) is None


def test_words_around_a_step_are_in_the_language_of_the_script():
    shown = CliRunner().invoke(main, ["step", "record", "--language", "zh"]).stdout
    assert "── 第 2 步，共 " in shown
    assert "00000000000000368771.log, 字节 16\n" in shown
    assert "00000000000000368771.log, 字节 0 到 7\n" in shown
    assert "    31: 对： " in shown
    assert "    19: 不对： " in shown
    assert not re.search(r": (right|no): |step \d+ of|, bytes? \d", shown)
