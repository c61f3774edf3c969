import random
import re
import struct
import zlib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kminilog.course.steps.docs_vs_bytes import BROKERS_BYTES, checksums, document, read_by_pages
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import decode, encode
from kminilog.text import shown
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of

keys = st.none() | st.binary(max_size=40)


def test_docs_vs_bytes_default_is_the_message_of_a_real_broker():
    documented, kafka, by_pages = document().files
    assert kafka.data == by_pages.data == BROKERS_BYTES
    assert documented.data == encode(DOCUMENTED, 0, None, b"message1")


def test_docs_vs_bytes_checksums_are_those_that_others_have_computed():
    rows = document().steps[-2].state.tables[0].rows  # course.md
    assert {name: crc for name, _, crc in rows} == {
        "magic to the end": 0xE97538BC,
        "key length to the end": 1658174628,
        "the web pages' payload": 1199638092,
        "the value alone": 1137720874,
        "all bytes, CRC set to 0": 598175725,
    }


def test_docs_vs_bytes_web_pages_lead_to_wrong_numbers():
    assert read_by_pages(BROKERS_BYTES, 0) == (0, 0, 0, -5)
    assert read_by_pages(BROKERS_BYTES, 8) == (22, 0xE9, 0x7538BC00, 17)


@given(keys, st.binary(max_size=60))
@example(None, b"\0\0\0\1x")  # read in the kafka dialect, it is a length and a value of one byte
def test_docs_vs_bytes_final_state_is_what_the_engine_reads(key, value):
    made = document(key, value)
    message = decode(KAFKA, encode(KAFKA, 0, key, value))
    assert (message.key, message.value) == (key, value)
    told = {"key": shown(key, 40), "value": shown(value, 40)}
    assert made.final.values == {**message._asdict(), **told}
    kafka = made.files[1].data
    assert checksums(kafka, value)["magic to the end"] == (16, message.crc)


@given(keys, st.binary(max_size=60))
def test_docs_vs_bytes_files_are_what_the_engine_writes(key, value):
    documented, kafka, _ = document(key, value).files
    assert documented.data == encode(DOCUMENTED, 0, key, value)
    assert kafka.data == encode(KAFKA, 0, key, value)


def test_docs_vs_bytes_questions_have_the_right_answers():
    asks = [step.ask for step in document().steps if step.ask]
    right = [choice.answer for ask in asks for choice in ask.choices if choice.is_right]
    assert right == ["4", "a value of 12 bytes", "0", "0xe9", "magic to the end"]


@pytest.mark.parametrize("seed", range(48))
def test_docs_vs_bytes_says_what_the_bytes_of_both_dialects_are(seed):
    chance = random.Random(seed)
    key = chance.choice((None, b"", b"k", b"kkkkkkkkk", chance.randbytes(12)))
    value = (b"", b"abc", b"123456789", b"\0\0\0\1x", chance.randbytes(seed))[seed % 5]
    made = document(key, value)
    documented, kafka = (oracle.encoded(dialect, 0, key, value) for dialect in oracle.BOTH)
    assert [file.data for file in made.files] == [documented, kafka, kafka]
    size, crc = struct.unpack_from(">iI", kafka, 8)
    said = [step.say for step in made.steps]
    (other,) = [say for say in said if say.startswith("The documented bytes, read")]
    if len(value) < 4:
        there = "1 byte is" if len(value) == 1 else f"{len(value)} bytes are"
        assert f"has four bytes, but after the key {there} there" in other
        assert " and value length" not in other
    else:
        assert "takes the four bytes after the key" in other
        assert ("valid message" in other) == oracle.is_whole("kafka", documented, 0)
        (taken,) = struct.unpack_from(">i", documented, 22 + len(key or b""))
        assert "valid message" in other or f" and value length {taken}, but size" in other
    (payload,) = [say for say in said if say.startswith("The payload would")]
    assert payload.startswith(f"The payload would have {size - 5} bytes: ")
    assert re.search(r"\bthe key\b(?! length)", payload) if key else "the key," not in payload
    assert ("the value." in payload) == bool(value)
    (wrong,) = [say for say in said if say.startswith("The CRC would be")]
    assert oracle.numbers(wrong) == [struct.unpack_from(">I", kafka, 13)[0]]
    (stored,) = [say for say in said if say.startswith("The stored")]
    assert oracle.numbers(stored) == [crc, zlib.crc32(value)]
    check_answers(made, kafka, key, value)
    oracle.assert_one_thing_is_one(words_of(made))


def check_answers(made, kafka, key, value):
    """What is said of a number, that no field holds it or where it stands, is so."""
    holds = {0, len(kafka) - 12, -1 if key is None else len(key), len(value)}
    for step in made.steps:
        for choice in step.ask.choices if step.ask else ():
            if "No field holds this number" in choice.why:
                assert int(choice.answer) not in holds
    assert f"a value of {len(value) + 4} bytes" in [
        choice.answer for step in made.steps if step.ask for choice in step.ask.choices
    ]
