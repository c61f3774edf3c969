import random
import re
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
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.message import CorruptMessage, Message, decode, encode
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of

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


def test_flip_default_is_the_documented_message_and_the_other_that_of_a_real_broker():
    assert document().files[0].data == encode(DOCUMENTED, 0, None, b"message1")
    assert document(KAFKA).files[0].data == BROKERS_BYTES


def test_flip_with_the_crc_directly_after_the_size_gives_the_known_figures():
    found = by_field(document(KAFKA).steps[-2].state.tables[0])  # course.md
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
    found = by_field(document(KAFKA).steps[-4].state.tables[0])
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


# ---- what is said, beside an oracle

NAMED = {one.name: one for one in DIALECTS.values()}


def verdict_by_hand(dialect, data):
    """Return what the first check that fails says: size, magic, lengths, CRC."""
    size, crc = int.from_bytes(data[8:12], signed=True), int.from_bytes(data[12:16])
    smallest = 10 + 4 * (dialect == "kafka")
    if size < smallest:
        return "bad-length"
    if 12 + size > len(data):
        return "unfinished"
    body = data[16 : 12 + size]
    if body[0]:
        return "bad-magic"
    key_length = int.from_bytes(body[2:6], signed=True)
    left = len(body) - 6 - max(key_length, 0) - 4 * (dialect == "kafka")
    if key_length < -1 or left < 0:
        return "bad-length"
    if dialect == "kafka":
        value_length = int.from_bytes(body[len(body) - left - 4 :][:4], signed=True)
        if value_length != left and (value_length, left) != (-1, 0):
            return "bad-length"
    return "a valid message" if crc32(body) == crc else "bad-crc"


def with_a_tail_that_keeps_the_crc(head):
    """Return some bytes with four more, which give the same CRC-32 as without them."""
    table = [crc32(bytes([n])) ^ crc32(b"\0") for n in range(256)]
    state = crc32(head) ^ 0xFFFFFFFF
    wanted = state
    for _ in range(4):
        slot = next(n for n, one in enumerate(table) if one >> 24 == wanted >> 24)
        wanted = (wanted ^ table[slot]) << 8 & 0xFFFFFFFF | slot
    return head + (wanted ^ state).to_bytes(4, "little")


@pytest.mark.parametrize("seed", range(40))
def test_flip_says_what_the_checks_by_hand_say(seed):
    chance = random.Random(seed)
    dialect = oracle.BOTH[seed % 2]
    key, value = chance.choice((None, b"", b"k")), chance.randbytes(chance.choice((0, 1, 3)))
    if seed == 0:  # its value may end four bytes earlier
        body = with_a_tail_that_keeps_the_crc(b"\0\0\xff\xff\xff\xffvalue")
        key, value = None, body[6:]
    data = oracle.encoded(dialect, 0, key, value)
    at, new = chance.randrange(len(data)), chance.randrange(256)
    new ^= new == data[at]
    made = document(NAMED[dialect], key, value, at, new)
    fields = [(f.start, f.end, f.name) for f in made.fields if f.file == "message"]
    totals = Counter()
    for slot, letters in enumerate(made.what_if.outcomes):
        name = next(name for start, end, name in fields if start <= slot < end)
        totals.update((name, made.what_if.meanings[letter]) for letter in letters)
    for slot, byte in [(at, new), *((chance.randrange(len(data)), n) for n in range(0, 256, 3))]:
        told = made.what_if.meanings[made.what_if.outcomes[slot][byte]]
        by_hand = verdict_by_hand(dialect, change(data, slot, byte))
        assert told == ("unchanged" if byte == data[slot] else by_hand)
    check_changes(made, dialect, data, (at, new))
    unnoticed = {name: n for (name, told), n in totals.items() if told == "a valid message"}
    changes, noticed = len(data) * 255, sum(unnoticed.values())
    (said,) = [s.say for s in made.steps if "the checks of a message notice all but" in s.say]
    others = noticed > unnoticed["offset"]
    assert oracle.numbers(said) == [changes, noticed, *([2040] if others else [])]
    assert ("These are the changes of the offset" in said) == (set(unnoticed) == {"offset"})
    assert others == (seed == 0)
    oracle.assert_one_thing_is_one(words_of(made))


def check_changes(made, dialect, data, own):
    """Compare each change that a step shows with what the checks say of it."""
    meant = {
        "reads a valid message": "a valid message",
        "needs more bytes": "unfinished",
        "lengths are not possible": "bad-length",
        "knows no such version": "bad-magic",
        "CRC does not match": "bad-crc",
    }
    seen = []
    for step in made.steps:
        said = re.match(r"Byte (\d+), in the ([a-z ]+), changes from (..) to (..)\.", step.say)
        if said:
            at, old, new = int(said[1]), int(said[3], 16), int(said[4], 16)
            seen.append((at, new))
            assert data[at] == old
            told = [meaning for words, meaning in meant.items() if words in step.say]
            assert told == [verdict_by_hand(dialect, change(data, at, new))]
    assert seen[0] == own
