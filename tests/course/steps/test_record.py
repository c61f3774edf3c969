import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.course.steps import entry, record
from kminilog.course.steps.document import Document
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import Message, decode, encode
from kminilog.verification.findings import FindingClass
from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.course.steps.scenes import made

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


def test_record_without_a_file_is_the_message_of_a_real_broker():
    values = made("record").final.values
    assert (values["crc"], values["finding"]) == (0xE97538BC, "ok")


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
