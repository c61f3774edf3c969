"""`step murmur2`: how a key is hashed, round by round, and six ways to take the rest.

    TT01 24       words of four bytes, little-endian; then a tail of 0 to 3 bytes
    h = seed ^ length → word → … → tail → two shifts → signed → & 0x7fffffff → % partitions

`rounds` shows each state of the hash between its steps; `format.hashing.murmur2` is what producers
call, and tests compare the two for any bytes. Source: S0 7; Kafka: Utils.murmur2; kafkajs
issue 1154 for the key, and for what others have computed.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple
from zlib import crc32

from kminilog.explain.document import (
    Bar,
    ByteRange,
    Document,
    Field,
    Picture,
    PictureLane,
    Table,
    Value,
)
from kminilog.explain.recording import Recording, ask
from kminilog.format.hashing import murmur2, to_positive
from kminilog.text import agreeing, count, shown_in

SEED = 0x9747B28C
MULTIPLIER = 0x5BD1E995
_MASK = 0xFFFFFFFF
_FILE = "key"
_SHOWN_COLUMNS = 60


class Round(NamedTuple):
    """The hash `h` after the bytes `start` to `end` of the key were mixed in; `what` says how."""

    what: str
    start: int
    end: int
    mixed: int
    h: int


def rounds(data: bytes) -> Iterator[Round]:
    """Yield each state of murmur2's 32-bit hash; the last one, as a signed number, is the result.

    >>> list(rounds(b"21"))[-1].h == murmur2(b"21") & 0xFFFFFFFF
    True
    """
    h = SEED ^ len(data)
    yield Round("length", 0, 0, len(data), h)
    whole = len(data) - len(data) % 4
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * MULTIPLIER & _MASK
        k = (k ^ k >> 24) * MULTIPLIER & _MASK
        h = h * MULTIPLIER & _MASK ^ k
        yield Round("word", start, start + 4, k, h)
    if whole < len(data):
        tail = int.from_bytes(data[whole:], "little")
        h = (h ^ tail) * MULTIPLIER & _MASK
        yield Round("tail", whole, len(data), tail, h)
    h = (h ^ h >> 13) * MULTIPLIER & _MASK
    yield Round("shift by 13", 0, 0, h >> 13, h)
    h ^= h >> 15
    yield Round("shift by 15", 0, 0, h >> 15, h)


def readings(key: bytes, partitions: int) -> dict[str, int]:
    """Return what six programs made of "the hash modulo the number of partitions".

    >>> readings(b"TT0124", 15)
    {'& 0x7fffffff': 10, 'abs': 13, 'unsigned': 3, 'Python %': 2, 'C remainder': -13, 'CRC-32': 9}
    """
    hashed = murmur2(key)
    remainder = abs(hashed) % partitions
    return {
        "& 0x7fffffff": to_positive(hashed) % partitions,
        "abs": remainder,
        "unsigned": (hashed & _MASK) % partitions,
        "Python %": hashed % partitions,
        "C remainder": -remainder if hashed < 0 else remainder,
        "CRC-32": crc32(key) % partitions,
    }


_THOUGHTS = {
    "abs": "That takes the absolute value. Kafka sets the sign bit to 0 instead, which gives "
    "another number for every negative hash.",
    "unsigned": "That takes the hash for a number without a sign. But Java has no such int, so "
    "Kafka sets the sign bit to 0.",
    "Python %": "That is Python's % with the negative hash. Its result is never negative, but "
    "Java computes another one.",
    "C remainder": "That is the remainder in C and Java, which keeps the sign. No partition has a "
    "negative number, so Kafka removes the sign before the division.",
    "CRC-32": "That is the CRC-32 of the key, which some other clients use by default. Kafka's "
    "Java client uses murmur2.",
}


def document(key: bytes = b"TT0124", partitions: int = 15) -> Document:
    """Return the step-through for a key; its last state has `murmur2` and `partition`.

    Raises ValueError for a number of partitions below 1, and for a key that is too long to show.
    """
    if partitions < 1:
        raise ValueError(f"{partitions} partitions: give at least 1")
    recording = Recording("murmur2", "How murmur2 turns a key into a partition")
    recording.file(_FILE, key, _fields(key))
    told: dict[str, Value] = {"key": shown_in(key, _SHOWN_COLUMNS)}
    _say_key(recording, key, told)
    for number, one in enumerate(rounds(key)):
        _say_round(recording, key, number, one, told)
    _say_result(recording, key, partitions, told)
    return recording.document()


def result(key: bytes, partitions: int) -> Document:
    """Return the steps after the rounds alone, for a key of any length.

    >>> dict(result(b"TT0124", 15).final.values)["partition"]
    10
    """
    recording = Recording("murmur2", "How the hash of a key becomes a partition")
    _say_result(recording, key, partitions, {})
    return recording.document()


def _fields(key: bytes) -> list[Field]:
    fields = []
    for start in range(0, len(key), 4):
        word = key[start : start + 4]
        is_word = len(word) == 4
        name = f"word {start // 4}" if is_word else "tail"
        kind = "word" if is_word else "tail"
        fields.append(
            Field(_FILE, start, start + len(word), name, kind, int.from_bytes(word, "little"))
        )
    return fields


def _say_key(recording: Recording, key: bytes, told: Mapping[str, Value]) -> None:
    words, tail = divmod(len(key), 4)
    said = (
        f"The key has {count(len(key), 'byte')}. murmur2 reads them as words of four bytes, least "
        f"significant byte first. Here it reads {count(words, 'word')}, and a tail of "
        f"{count(tail, 'byte')}."
    )
    focus = [ByteRange(_FILE, 0, len(key))] if key else []
    values = {**told, "length": len(key), "words": words, "tail": tail}
    recording.step(said, focus=focus, values=values, picture=_picture(key, 0, 0, {}))


def _say_round(
    recording: Recording, key: bytes, number: int, one: Round, told: Mapping[str, Value]
) -> None:
    said = {
        "length": f"The hash h begins as the seed 0x{SEED:08x}, combined with the length by "
        "exclusive or (xor). So keys that differ only in zero bytes at the end usually get "
        "different hashes.",
        "word": f"Bytes {one.start} to {one.end - 1}: the word is multiplied by "
        f"0x{MULTIPLIER:08x}. Then its upper 8 bits are mixed into its lower bits (k ^= k >>> 24), "
        "and it is multiplied again. The result is k. Now the hash is multiplied, and combined "
        "with k by xor. All numbers keep 32 bits.",
        "tail": f"The tail begins at byte {one.start}. The hash is combined with it by xor, then "
        "multiplied.",
        "shift by 13": "The upper bits are mixed into the lower ones, h ^= h >>> 13. Then the "
        "hash is multiplied for the last time.",
        "shift by 15": "Then h ^= h >>> 15.",
    }[one.what]
    focus = [ByteRange(_FILE, one.start, one.end)] if one.end else []
    values: dict[str, Value] = {**told, "round": number, "h": f"0x{one.h:08x}"}
    if one.what in ("word", "tail"):
        name = "k" if one.what == "word" else "tail"
        values[name] = f"0x{one.mixed:08x}"
    words = {name: one.mixed} if one.what in ("word", "tail") else {}
    picture = _picture(key, one.start, one.end, {**words, "h": one.h})
    recording.step(said, focus=focus, values=values, picture=picture)


def _say_result(
    recording: Recording, key: bytes, partitions: int, told: Mapping[str, Value]
) -> None:
    hashed = murmur2(key)
    positive = to_positive(hashed)
    values: dict[str, Value] = {**told, "h": f"0x{hashed & _MASK:08x}", "murmur2": hashed}
    bit = "1, so it is negative" if hashed < 0 else "0, so it is not negative"
    sign = f"Its highest bit is {bit}"
    recording.step(
        f"Integers in Java have a sign. For Java, the 32 bits are the number {hashed}. {sign}.",
        values=values,
        picture=_picture(key, 0, 0, {"h": hashed & _MASK}),
    )
    values["without the sign bit"] = positive
    recording.step(
        "Kafka sets the sign bit to 0 (h & 0x7fffffff). The result is not the absolute value.",
        values=values,
        picture=_picture(key, 0, 0, {"h": hashed & _MASK, "positive": positive}),
    )
    results = readings(key, partitions)
    right = results["& 0x7fffffff"]
    question = ask(
        f"Which of {count(partitions, 'partition')} does this key go to? The hash is {hashed}.",
        str(right),
        f"{positive} % {partitions}, after Kafka has set the sign bit to 0.",
        {str(results[name]): thought for name, thought in reversed(_THOUGHTS.items())},
    )
    rows = tuple((name, result) for name, result in results.items())
    table = Table(
        f'Six readings of "hash modulo {partitions}"', ("reading", "partition"), rows, (0,)
    )
    recording.step(
        f"{positive} % {partitions} = {right}, which is the partition. "
        f"{_what_the_key_shows(results)}",
        ask=question if len(question.choices) > 1 else None,
        values={**values, "partition": right},
        tables=[table],
        picture=_partition_picture(results, partitions),
    )


def _picture(key: bytes, start: int, end: int, words: Mapping[str, int]) -> Picture:
    """Return the key as bytes, and words as their 32 bits, four for each hex digit."""
    bars = [
        Bar(
            at,
            min(at + 4, len(key)),
            key[at : at + 4].hex(" "),
            "key here" if start <= at < end else "key",
        )
        for at in range(0, len(key), 4)
    ]
    lane = PictureLane("key", 0, max(len(key), 1), tuple(bars), count(len(key), "byte"), _FILE)
    lanes = [lane]
    for name, word in words.items():
        text = f"{word:032b}"
        parts = [(at, text[at : at + 4]) for at in range(0, 32, 4)]
        digits = [Bar(at, at + 4, bits, "value" if "1" in bits else "seen") for at, bits in parts]
        lanes.append(PictureLane(name, 0, 32, tuple(digits), f"0x{word:08x}"))
    return Picture(
        "The key in words of four bytes, and the hash as bits: four for each hex digit",
        tuple(lanes),
    )


def _partition_picture(results: Mapping[str, int], partitions: int) -> Picture:
    """Return the partitions, and the one that each reading leads to, where it is one."""
    right = results["& 0x7fffffff"]
    by_partition: dict[int, list[str]] = {}
    for name, result in results.items():
        by_partition.setdefault(result, []).append(name)
    bars = [
        Bar(
            at,
            at + 1,
            str(at),
            "here" if at == right else "free",
            row=(0, list(results).index(names[0])),
        )
        for at, names in sorted(by_partition.items())
        if 0 <= at < partitions
    ]
    return Picture(
        "The partition. The dashed ones are where the other readings lead",
        (PictureLane("partitions", 0, partitions, tuple(bars)),),
    )


def _what_the_key_shows(results: dict[str, int]) -> str:
    """Return which of the five mistakes a test with this key finds."""
    right = results["& 0x7fffffff"]
    wrong = [results[name] for name in _THOUGHTS]
    agree = wrong.count(right)
    if agree:
        return (
            f"{agree} of the other readings {agreeing('give', agree)} the same partition. So a "
            "test with this key alone does not find their mistake."
        )
    if len(set(wrong)) == len(wrong):
        return (
            "The five common mistakes give five other numbers. So this key shows which mistake a "
            "client makes."
        )
    return (
        "The five common mistakes give other numbers, but two of them or more give the same "
        "number. So this key does not show which mistake a client makes."
    )
