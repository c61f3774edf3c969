"""Without its topic a `.log` is read in its own dialect, or said to be unclear."""

import random

import pytest

from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.message import encode
from kminilog.format.names import segment_name
from kminilog.storage.segment.seen_dialect import ENOUGH, LOOKED_AT, seen_dialect
from tests.support.damage import cut_to, flip_byte, later_message

LOOKS_LIKE_A_LENGTH = [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\0\0\0\2hi"]
both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda d: d.name)


def write(directory, dialect, values, *, base_offset=0, first_offset=None):
    path = directory / f"{segment_name(base_offset)}.log"
    start = dialect.first_offset(base_offset) if first_offset is None else first_offset
    numbered = enumerate(values, start=start)
    path.write_bytes(b"".join(encode(dialect, offset, None, value) for offset, value in numbered))
    return path


def random_values(dialect, chance: random.Random) -> list[bytes | None]:
    """A few to many values; in both dialects, some begin with a length of the rest, or are one.

    In the documented dialect at most ENOUGH - 1 of these hold a text: else the file may have the
    very bytes of one in the other dialect.
    """
    nulls = [None] if dialect is KAFKA else []
    values = [
        chance.choice([*LOOKS_LIKE_A_LENGTH[:2], b"", b"text", *nulls, chance.randbytes(9)])
        for _ in range(chance.choice([0, 1, 2, 3, 5, 20]))
    ]
    looking = LOOKS_LIKE_A_LENGTH[2:] * chance.randrange(ENOUGH)
    return chance.sample(values + looking, len(values + looking))


@both_dialects
def test_dialect_of_300_random_files_is_right_or_unclear(tmp_path, dialect):
    chance, clear, wrong = random.Random(60), 0, []
    for number in range(300):
        base_offset = chance.choice([0, 0, 7, 368_769, 2**40])
        path = write(tmp_path, dialect, random_values(dialect, chance), base_offset=base_offset)
        size = path.stat().st_size
        if size and chance.random() < 0.3:
            flip_byte(path, chance.randrange(size), mask=chance.randrange(1, 256))
        elif size and chance.random() < 0.3:
            cut_to(path, chance.randrange(size))
        found = seen_dialect(path)
        clear += found.is_clear
        if found.is_clear and found.dialect is not dialect:
            wrong.append((number, base_offset, found, path.read_bytes()))
    assert wrong == []
    assert clear > 100  # the others are mixed, few, or empty


@both_dialects
@pytest.mark.parametrize("base_offset", [0, 7])
def test_file_of_texts_is_clear(tmp_path, dialect, base_offset):
    path = write(tmp_path, dialect, [b"a", b"", b"text", b"more"], base_offset=base_offset)
    assert seen_dialect(path)[:2] == (dialect, True)


@pytest.mark.parametrize("count", [ENOUGH - 1, ENOUGH])
def test_few_messages_with_a_value_do_not_decide(tmp_path, count):
    path = write(tmp_path, KAFKA, [b"text"] * count + [None, b""])
    assert seen_dialect(path)[:2] == (KAFKA, count >= ENOUGH)
    path = write(tmp_path, KAFKA, [b"text"] * count, base_offset=7)
    assert seen_dialect(path)[:2] == (KAFKA, True)  # by its name, too


def test_messages_of_both_dialects_are_unclear(tmp_path):
    path = write(tmp_path, DOCUMENTED, [b"text", *LOOKS_LIKE_A_LENGTH])
    found = seen_dialect(path)
    assert found[:2] == (DOCUMENTED, False)
    assert found.seen == "a value length stands after the key in 3 of 4 messages"
    path = write(tmp_path, DOCUMENTED, [b"text", *LOOKS_LIKE_A_LENGTH], base_offset=7)
    assert seen_dialect(path)[:2] == (DOCUMENTED, True)  # by its name


@both_dialects
def test_name_that_says_the_other_dialect_makes_it_unclear(tmp_path, dialect):
    other = DOCUMENTED if dialect is KAFKA else KAFKA
    first_offset = other.first_offset(7)
    path = write(tmp_path, dialect, [b"text"] * 9, base_offset=7, first_offset=first_offset)
    found = seen_dialect(path)
    assert found[:2] == (dialect, False)
    assert found.seen.endswith(f"; its name says {other.name}")


@both_dialects
@pytest.mark.parametrize("data", [b"", b"torn", later_message(1, 0, b"value")])
def test_file_without_a_message_of_format_0_has_the_default(tmp_path, dialect, data):
    path = tmp_path / "x.log"
    path.write_bytes(data)
    assert seen_dialect(path, dialect)[:2] == (dialect, False)


def test_no_more_than_the_first_messages_are_looked_at(tmp_path):
    path = write(tmp_path, DOCUMENTED, [b"text"] * LOOKED_AT + LOOKS_LIKE_A_LENGTH)
    assert seen_dialect(path).seen == (
        "a value length stands after the key in 0 of the first 1,000 messages"
    )
