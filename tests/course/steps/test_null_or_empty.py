import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.course.steps.null_or_empty import document
from kminilog.errors import NullValueError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.message import Message, decode, encode
from kminilog.text import shown
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of

dialects = st.sampled_from(list(DIALECTS.values()))


def come_back(dialect, key, value):
    """Return the key and the value that the engine reads, as texts; "refused" if it writes none."""
    try:
        message = decode(dialect, encode(dialect, 0, key, value))
    except NullValueError:
        return ["refused", "refused"]
    assert isinstance(message, Message)
    return [shown(message.key, 40), shown(message.value, 40)]


@given(dialects, st.binary(min_size=1, max_size=60), st.binary(max_size=60))
def test_null_or_empty_final_state_is_what_the_engine_reads(dialect, key, value):
    rows = document(dialect, key, value).final.tables[0].rows
    written = [(None, value), (b"", value), (key, value), (key, b""), (key, None)]
    assert [list(row[3:]) for row in rows] == [come_back(dialect, *one) for one in written]
    assert [row[1:3] for row in rows] == [tuple(shown(part, 40) for part in one) for one in written]


@given(dialects, st.binary(min_size=1, max_size=60), st.binary(max_size=60))
def test_null_or_empty_files_are_what_the_engine_writes(dialect, key, value):
    files = {file.name: file.data for file in document(dialect, key, value).files}
    assert files.pop("null value", None) == (
        encode(dialect, 0, key, None) if dialect.has_value_length else None
    )
    assert files == {
        "no key": encode(dialect, 0, None, value),
        "empty key": encode(dialect, 0, b"", value),
        "a key": encode(dialect, 0, key, value),
        "empty value": encode(dialect, 0, key, b""),
    }


@pytest.mark.parametrize(
    ("dialect", "answers"),
    [
        (KAFKA, ["0", "partition 1", "-1", "5"]),
        (DOCUMENTED, ["0", "partition 1", "it refuses the message", "4"]),
    ],
)
def test_null_or_empty_questions_have_the_right_answers(dialect, answers):
    asks = [step.ask for step in document(dialect).steps if step.ask]
    assert all(len(ask.choices) >= 3 for ask in asks)
    assert [c.answer for ask in asks for c in ask.choices if c.is_right] == answers


def test_null_or_empty_in_the_documented_dialect_shows_the_error():
    told = [step.state.values.get("error") for step in document(DOCUMENTED).steps]
    assert [error for error in told if error] == [str(NullValueError("documented"))]


def test_null_or_empty_needs_a_key_to_compare_with():
    with pytest.raises(ValueError, match="the key is empty"):
        document(KAFKA, b"")


def murmur2(key: bytes) -> int:
    """Return Kafka's hash of a key, by hand."""
    factor, mask = 0x5BD1E995, 0xFFFFFFFF
    hashed = 0x9747B28C ^ len(key)
    whole = len(key) - len(key) % 4
    for at in range(0, whole, 4):
        part = int.from_bytes(key[at : at + 4], "little") * factor & mask
        part = (part ^ part >> 24) * factor & mask
        hashed = (hashed * factor & mask) ^ part
    if rest := key[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * factor & mask
    hashed = (hashed ^ hashed >> 13) * factor & mask
    return hashed ^ hashed >> 15


@pytest.mark.parametrize("seed", range(48))
def test_null_or_empty_says_what_the_bytes_by_hand_are(seed):
    chance = random.Random(seed)
    name = oracle.BOTH[seed % 2]
    dialect = {one.name: one for one in DIALECTS.values()}[name]
    key = chance.randbytes(chance.choice((1, 2, 9, 40)))
    value = chance.randbytes(chance.choice((0, 1, 8, 60)))
    made = document(dialect, key, value)
    none, empty, some, no_value = (
        oracle.encoded(name, 0, *one)
        for one in ((None, value), (b"", value), (key, value), (key, b""))
    )
    assert [file.data for file in made.files][:4] == [none, empty, some, no_value]
    said = [step.say for step in made.steps]
    assert differing(said, "From the message without a key differ only") == [
        *(["the crc"] * (none[12:16] != empty[12:16])),
        "the key length",
    ]
    hashed = [murmur2(one) % 2**31 % 10 for one in (b"", key)]
    (table,) = [t for s in made.steps for t in s.state.tables if t.title.startswith("Two tests")]
    assert [row[3] for row in table.rows] == ["any", *map(str, hashed)]
    (placed,) = [say for say in said if say.startswith("An empty key is hashed")]
    assert oracle.numbers(placed) == [hashed[0], 10]
    assert oracle.numbers(said[-1]) == ([5, 5, 0] if name == "kafka" else [4, 5, 1])
    if name == "kafka":
        assert [file.data for file in made.files][4][-4:] == b"\xff" * 4
        assert "the value length" in differing(said, "From the empty value differ only")
    assert [row[2] for row in made.steps[2].state.tables[0].rows] == [-1, 0, len(key)]
    oracle.assert_one_thing_is_one(words_of(made))


def differing(said, before):
    (text,) = [say.partition(before)[2] for say in said if before in say]
    return text.split(".")[0].strip().split(" and ")
