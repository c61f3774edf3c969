from collections import Counter
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.course.steps.docs_vs_bytes import BROKERS_BYTES
from kminilog.course.steps.flip import (
    MAX_MESSAGE_BYTES,
    all_letters,
    change,
    document,
    findings,
    letter_by_crc,
    own_change,
)
from kminilog.format.dialect import DIALECTS, KAFKA
from kminilog.format.message import CorruptMessage, Message, decode, encode

dialects = st.sampled_from(list(DIALECTS.values()))
keys = st.none() | st.binary(max_size=12)
values = st.binary(max_size=20)


def verdict(dialect, data):
    """Return what the engine says of the bytes of a message, in one word."""
    outcome = decode(dialect, data)
    if isinstance(outcome, CorruptMessage):
        return outcome.fault.value
    return "a valid message" if isinstance(outcome, Message) else "unfinished"


def by_field(table):
    return {row[0]: dict(zip(table.columns[1:], row[1:], strict=True)) for row in table.rows}


def test_flip_default_is_the_message_of_a_real_broker():
    assert document().files[0].data == BROKERS_BYTES


def test_flip_with_the_crc_directly_after_the_size_gives_the_known_figures():
    found = by_field(document().steps[-2].state.tables[0])  # course.md
    wrong = {"unnoticed": 0, "unfinished": 0, "bad-length": 0, "bad-crc": 0}
    assert found == {
        "offset": {"changes": 2040, **wrong, "unnoticed": 2040},
        "size": {"changes": 1020, **wrong, "unfinished": 870, "bad-length": 142, "bad-crc": 8},
        "all after": {"changes": 5610, **wrong, "bad-crc": 5610},
    }


@pytest.mark.parametrize(("at", "letter"), [(16, "m"), (21, "l"), (25, "l"), (17, "s")])
def test_letter_by_crc_with_a_right_crc_is_what_the_other_checks_say(at, letter):
    changed = change(BROKERS_BYTES, at, BROKERS_BYTES[at] ^ 1)
    assert letter_by_crc(KAFKA, changed) == "c"
    mended = changed[:12] + crc32(changed[16:]).to_bytes(4) + changed[16:]
    assert letter_by_crc(KAFKA, mended) == letter


def test_flip_of_each_field_is_noticed_by_the_first_check_that_fails():
    found = by_field(document().steps[-4].state.tables[0])
    assert found["size"]["unfinished"] == 870
    assert found["size"]["bad-length"] == 150
    assert found["magic"]["bad-magic"] == 255
    assert found["key length"]["bad-length"] == found["value length"]["bad-length"] == 1020
    noticed = {name: row["changes"] - row["unnoticed"] for name, row in found.items()}
    assert noticed.pop("offset") == 0
    assert noticed.pop("all") == sum(noticed.values()) == 8670 - 2040


@settings(max_examples=20)
@given(dialects, keys, values)
def test_flip_final_state_is_what_the_engine_says_of_every_change(dialect, key, value):
    made = document(dialect, key, value)
    data = encode(dialect, 0, key, value)
    outcomes = Counter(
        verdict(dialect, change(data, at, new))
        for at in range(len(data))
        for new in range(256)
        if new != data[at]
    )
    told = dict(made.final.values)
    assert told.pop("changes") == len(data) * 255
    assert told.pop("refused by the log") == outcomes["a valid message"] == 8 * 255
    assert {name: number for name, number in told.items() if number} == dict(outcomes)


@settings(max_examples=20)
@given(dialects, keys, values, st.data())
def test_flip_what_if_is_what_the_engine_says(dialect, key, value, draw):
    what_if = document(dialect, key, value).what_if
    data = encode(dialect, 0, key, value)
    assert len(what_if.outcomes) == len(data)
    for _ in range(20):
        at = draw.draw(st.integers(0, len(data) - 1))
        new = draw.draw(st.integers(0, 255))
        meaning = what_if.meanings[what_if.outcomes[at][new]]
        unchanged = new == data[at]
        assert meaning == ("unchanged" if unchanged else verdict(dialect, change(data, at, new)))


def test_flip_in_a_log_is_found_by_verification_wherever_it_is():
    for dialect in DIALECTS.values():
        data = encode(dialect, 0, b"k", b"v")
        for at, old in enumerate(data):
            for new in (old ^ 1, old ^ 0x80):
                assert len(findings(dialect, b"k", b"v", at, new)) == 1, (dialect.name, at, new)


def test_flip_tells_what_verification_finds():
    steps = document(KAFKA, None, b"message1", 3, 0x7F).steps
    assert steps[1].say.startswith("Byte 3, in the offset, changes from 00 to 7f.")
    ((kind, detail),) = findings(KAFKA, None, b"message1", 3, 0x7F)
    assert steps[1].state.values["verify, in a log"] == f"{kind}: {detail}"
    assert kind == "offset-disorder"


def test_flip_questions_have_the_right_answers():
    asks = [step.ask for step in document().steps if step.ask]
    assert [choice.answer for ask in asks for choice in ask.choices if choice.is_right] == [
        "a valid message",
        "unfinished",
        "bad-magic",
        "2,040",
        "the log, by the offset that must come next",
    ]


@pytest.mark.parametrize(
    ("at", "new", "reason"),
    [(34, 0, "no byte 34"), (-1, 0, "no byte -1"), (None, 0, "which byte"), (8, 0, "00 already")],
)
def test_flip_that_is_no_change_is_refused(at, new, reason):
    with pytest.raises(ValueError, match=reason):
        own_change(KAFKA, BROKERS_BYTES, at, new)


def test_flip_without_a_new_value_takes_the_next_one():
    assert own_change(KAFKA, BROKERS_BYTES, 18, None) == (18, 0xFF, 0, "l")


def test_flip_of_a_long_message_is_refused():
    overhead_bytes = len(encode(KAFKA, 0, None, b""))
    longest = bytes(MAX_MESSAGE_BYTES - overhead_bytes)
    assert len(all_letters(KAFKA, document(KAFKA, None, longest).files[0].data)) == 256
    with pytest.raises(ValueError, match="257 bytes"):
        document(KAFKA, None, longest + b"\0")
