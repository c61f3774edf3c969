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
from kminilog.explain.script import Script
from kminilog.format.hashing import murmur2, to_positive
from kminilog.text import count, shown_in

STEPS = (
    *("The key", "Round: length", "Round: word", "Round: tail"),
    *("Round: shift by 13", "Round: shift by 15"),
    *("The sign", "Without the sign bit", "The partition"),
)
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


def document(key: bytes = b"TT0124", partitions: int = 15) -> Document:
    """Return the step-through for a key; its last state has `murmur2` and `partition`.

    Raises ValueError for a number of partitions below 1, and for a key that is too long to show.
    """
    if partitions < 1:
        raise ValueError(f"{partitions} partitions: give at least 1")
    told = _begun(key, partitions, is_whole=True)
    told.recording.file(_FILE, key, _fields(key))
    state: dict[str, Value] = {"key": shown_in(key, _SHOWN_COLUMNS)}
    words, tail = divmod(len(key), 4)
    told.tell(
        "The key",
        focus=[ByteRange(_FILE, 0, len(key))] if key else [],
        values={**state, "length": len(key), "words": words, "tail": tail},
        picture=_picture(key, 0, 0, {}),
        length=len(key),
        words=words,
        tail=tail,
    )
    for number, one in enumerate(rounds(key)):
        mixed = {"k" if one.what == "word" else "tail": one.mixed} if one.end else {}
        shown = {name: f"0x{word:08x}" for name, word in mixed.items()}
        told.tell(
            f"Round: {one.what}",
            focus=[ByteRange(_FILE, one.start, one.end)] if one.end else [],
            values={**state, "round": number, "h": f"0x{one.h:08x}", **shown},
            picture=_picture(key, one.start, one.end, {**mixed, "h": one.h}),
            start=one.start,
            end=one.end,
        )
    _tell_result(told, key, partitions, state)
    return told.document()


def result(key: bytes, partitions: int) -> Document:
    """Return the steps after the rounds alone, for a key of any length.

    >>> dict(result(b"TT0124", 15).final.values)["partition"]
    10
    """
    told = _begun(key, partitions, is_whole=False)
    _tell_result(told, key, partitions, {})
    return told.document()


def _begun(key: bytes, partitions: int, *, is_whole: bool) -> Script:
    return Script(
        __file__,
        "murmur2",
        STEPS,
        is_whole=is_whole,
        hashed=murmur2(key),
        positive=to_positive(murmur2(key)),
        partitions=partitions,
    )


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


def _tell_result(told: Script, key: bytes, partitions: int, state: Mapping[str, Value]) -> None:
    hashed = murmur2(key)
    h, positive = hashed & _MASK, to_positive(hashed)
    values: dict[str, Value] = {**state, "h": f"0x{h:08x}", "murmur2": hashed}
    told.tell("The sign", values=values, picture=_picture(key, 0, 0, {"h": h}))
    values["without the sign bit"] = positive
    told.tell(
        "Without the sign bit",
        values=values,
        picture=_picture(key, 0, 0, {"h": h, "positive": positive}),
    )
    results = readings(key, partitions)
    right, *others = results.values()
    rows = tuple(results.items())
    told.tell(
        "The partition",
        fewest_choices=2,
        values={**values, "partition": right},
        tables=[
            Table(
                f'Six readings of "hash modulo {partitions}"', ("reading", "partition"), rows, (0,)
            )
        ],
        picture=_partition_picture(results, partitions),
        results=results,
        right=right,
        same=others.count(right),
        all_differ=len(set(others)) == len(others),
    )


def _picture(key: bytes, start: int, end: int, words: Mapping[str, int]) -> Picture:
    """Return the key as bytes, those from `start` to `end` marked, and words as their bits."""
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
    return Picture(
        "The key in words of four bytes, and the hash as bits: four for each hex digit",
        (lane, *(bits_lane(name, word) for name, word in words.items())),
    )


def bits_lane(name: str, word: int) -> PictureLane:
    """Return the 32 bits of a word, four for each hex digit."""
    text = f"{word:032b}"
    parts = [(at, text[at : at + 4]) for at in range(0, 32, 4)]
    digits = [Bar(at, at + 4, bits, "value" if "1" in bits else "seen") for at, bits in parts]
    return PictureLane(name, 0, 32, tuple(digits), f"0x{word:08x}")


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
