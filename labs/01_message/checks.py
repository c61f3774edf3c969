"""Checks of lab 1: one message, byte by byte."""

import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from struct import pack, unpack_from
from typing import Any, NamedTuple
from zlib import crc32

from kminilog.course.comparing import Comparer, name_of
from kminilog.course.counting import CountedBytes
from kminilog.errors import NullValueError
from kminilog.explain.text import field_table
from kminilog.format import message as library
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import CorruptMessage, Fault, Message, NeedMoreBytes, Outcome

# A message that a learner of Kafka found on his disk: no key, the value "message1", offset 0.
RECORD = bytes.fromhex(
    "0000000000000000 00000016 e97538bc 00 00 ffffffff 00000008 6d65737361676531"
)
BOTH = (DOCUMENTED, KAFKA)
MANY = 2000  # messages: more than Python allows calls inside each other

FILE = "00000000000000000000.log"
PIECE = "piece.bin"
PIECE_STARTS = 34 - 14  # with the last 14 bytes of RECORD
LOST_BYTES = 3


def first_win(name: str) -> list[str]:
    """Return the fields of a message that has the student's name."""
    return field_table(KAFKA, library.encode(KAFKA, 0, None, name.encode()))


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a segment of four messages, and a piece of another one, which no command can read.

    The second message of the piece has the student's name as its key, and lacks its end.
    """
    pairs = [(None, b"message1"), (name.encode(), b"is my name"), (b"", b"no key?"), (b"k", b"")]
    data = [library.encode(KAFKA, offset, *pair) for offset, pair in enumerate(pairs)]
    (folder / FILE).write_bytes(b"".join(data))
    second = library.encode(KAFKA, 368769 + seed % 1000, *pairs[1])
    (folder / PIECE).write_bytes(RECORD[PIECE_STARTS:] + second[:-LOST_BYTES])


# ---- 1.1


def exercise_1(compare: Comparer, header: Callable[..., Any]) -> None:
    for offset, content in ((0, b"text"), (1, RECORD), (255, bytes(10)), (368776, b"k" * 99)):
        _compare_header(compare, header, offset, content, {})
    compare.equal("header(9, b'')", lambda: header(9, b""), pack(">qi", 9, 4))
    mistakes = {"as-float": pack(">qi", 2**53, 8), "upper-bytes-lost": pack(">qi", 1, 8)}
    _compare_header(compare, header, 2**53 + 1, b"text", mistakes)
    for offset, content, lost in (
        (7, bytes(300), (7, 304 & 0xFF)),
        (7, bytes(70_000), (7, 70_004 & 0xFFFF)),
        (2**40 + 3, b"text", (3, 8)),
        (2**63 - 1, b"text", (2**48 - 1, 8)),
    ):
        mistakes = {"upper-bytes-lost": pack(">qi", *lost)}
        _compare_header(compare, header, offset, content, mistakes)


def _compare_header(
    compare: Comparer,
    header: Callable[..., Any],
    offset: int,
    content: bytes,
    mistakes: dict[str, bytes],
) -> None:
    size = 4 + len(content)
    compare.equal(
        f"header({offset}, {len(content)} bytes)",
        lambda: header(offset, content),
        pack(">qi", offset, size),
        {
            "little-endian": pack("<qi", offset, size),
            "size-includes-12": pack(">qi", offset, size + 12),
            "size-skips-crc": pack(">qi", offset, size - 4),
            "offset-of-4-bytes": pack(">ii", offset & 0x7FFFFFFF, size),
            **mistakes,
        },
    )


# ---- 1.2


def precondition_2(message: bytes) -> bool:
    """Return whether this is a whole message: all fields of fixed length are there."""
    return len(message) >= library.KEY_START


def exercise_2(compare: Comparer, checksum: Callable[..., Any]) -> None:
    compare.equal(
        "checksum(the 34 bytes)",
        lambda: checksum(RECORD),
        0xE97538BC,
        {
            "crc-payload": 1137720874,
            "crc-whole": 598175725,
            "crc-of-offset": crc32(RECORD),
            "crc-of-itself": crc32(RECORD[12:]),
            "crc-skips-header": 1658174628,
            "crc-castagnoli": 55521904,
            "crc-signed": -378193732,
        },
    )
    for what, data, mistakes in _messages_to_sum():
        compare.equal(
            f"checksum({what})",
            lambda data=data: checksum(data),
            crc32(data[16:]),
            {
                "crc-whole": crc32(data[:12] + bytes(4) + data[16:]),
                "crc-of-offset": crc32(data),
                "crc-of-itself": crc32(data[12:]),
                "crc-skips-header": crc32(data[18:]),
                **mistakes,
            },
        )
    data = CountedBytes(library.encode(KAFKA, 7, b"k", b"line\n" * 2000))
    checksum(data)
    what = f"bytes copied of a message of {len(data)}"
    compare.at_most(what, sum(data.copied), 4 * len(data), "copies-the-rest")


def _messages_to_sum() -> Iterator[tuple[str, bytes, dict[str, int]]]:
    """Yield what is special in a message, its bytes, and what misconceptions give for it."""
    yield "another crc", RECORD[:12] + b"\xab\xcd\0\1" + RECORD[16:], {"crc-stored": 0xABCD0001}
    yield "another offset", bytes(7) + b"\7" + RECORD[8:], {}
    less = RECORD[:11] + bytes([RECORD[11] - 3]) + RECORD[12:]
    yield "another size", less, {"crc-trusts-size": crc32(RECORD[16:-3])}
    yield "a size of 0", RECORD[:8] + bytes(4) + RECORD[12:], {"crc-trusts-size": 0}
    for dialect in BOTH:
        for key, value in ((None, b"x"), ("键".encode(), "值".encode()), (b"k" * 300, b"v")):
            data = library.encode(dialect, 7, key, value)
            yield f"{len(data)} bytes, {dialect.name}", data, {"crc-payload": crc32(value)}
        yield f"empty, {dialect.name}", library.encode(dialect, 7, b"", b""), {}
        data = library.encode(dialect, 7, b"k", b"v", attributes=1)
        yield "attributes 1", data, {"crc-skips-header": crc32(bytes(2) + data[18:])}
        data = data[:16] + b"\2" + data[17:]
        yield "magic 2", data, {"crc-skips-header": crc32(bytes(1) + data[17:])}
        for end in (b" \n", b"\0\0"):
            data = library.encode(dialect, 7, b"k", b"value" + end)
            stripped = crc32(data[16:].rstrip(end))
            yield f"{len(data)} bytes, {end!r} at the end", data, {"bytes-stripped": stripped}
        data = library.encode(dialect, 7, b"k", b"line\n" * 20_000)
        last_part = data[16:][(len(data) - 16) // 65536 * 65536 :]
        yield f"{len(data)} bytes", data, {"crc-of-last-part": crc32(last_part)}


# ---- 1.3


def exercise_3(compare: Comparer, content: Callable[..., Any]) -> None:
    for key, value in (
        (b"key", b"value"),
        (None, b"message1"),
        (b"", b"v"),
        (b"key", b""),
        (b"", b""),
        ("键".encode(), "值".encode()),
        (b"k", b"\xff\0\xfe"),
        (b"\xff\0\xfe", b"v"),
        (b" a ", b"v"),
        (b"k", b" a\n"),
        (b"k", b"a\0"),
        (b"k" * 300, b"v"),
        (b"k", b"v" * 70_000),
    ):
        for dialect in BOTH:
            _compare_content(compare, content, dialect, key, value)
    for key in (b"k", b"", None):
        mistakes = {"null-as-empty": library.content(KAFKA, key, b"")}
        _compare_taken(compare, content, KAFKA, key, None, mistakes, "refuses-every-null")
        compare.refuses(
            f"content(documented, {key!r}, None)",
            lambda key=key: content(DOCUMENTED, key, None),
            NullValueError,
            {
                "null-value-accepted": library.content(DOCUMENTED, key, b""),
                "value-length-added": library.content(KAFKA, key, None),
            },
        )
    for dialect in BOTH:
        for key, number in ((b"k", 2), (b"k", 1), (None, 3), (b"", 4), (b"k", 127)):
            compare.equal(
                f"content({dialect.name}, {key!r}, b'v', attributes={number})",
                lambda d=dialect, k=key, n=number: content(d, k, b"v", attributes=n),
                library.content(dialect, key, b"v", attributes=number),
                {
                    "attributes-ignored": library.content(dialect, key, b"v"),
                    "attributes-as-flag": library.content(dialect, key, b"v", attributes=1),
                },
            )


def _compare_content(
    compare: Comparer,
    content: Callable[..., Any],
    dialect: Dialect,
    key: bytes | None,
    value: bytes,
) -> None:
    right = library.content(dialect, key, value)
    as_text = [part and part.decode("utf-8", "replace").encode() for part in (key, value)]
    long = pack(">i", len(key or b"")), pack(">i", len(value))  # their upper bytes go
    short = pack(">i", len(key or b"") & 0xFF), pack(">i", len(value) & 0xFFFF)
    mistakes = {
        "null-key-as-empty": library.content(dialect, key or b"", value),
        "empty-as-null": library.content(dialect, key or None, value),
        "length-missing": b"\0\0" + (key or b"absent") + value,
        "value-length-missing": library.content(DOCUMENTED, key, value),
        "value-length-added": library.content(KAFKA, key, value),
        "bytes-as-text": library.content(dialect, *as_text),
        "upper-bytes-lost": right.replace(long[0], short[0], 1).replace(long[1], short[1], 1),
    }
    if dialect is KAFKA:
        mistakes["empty-value-as-null"] = library.content(dialect, key, value or None)
    code_of_refusal = None if value else "empty-value-as-null"
    _compare_taken(compare, content, dialect, key, value, mistakes, code_of_refusal)


def _compare_taken(
    compare: Comparer,
    content: Callable[..., Any],
    dialect: Dialect,
    key: bytes | None,
    value: bytes | None,
    mistakes: dict[str, bytes],
    code_of_refusal: str | None,
) -> None:
    """Compare what an answer gives for a value that it must not refuse as null."""
    compare.equal(
        f"content({dialect.name}, {_short(key)}, {_short(value)})",
        lambda: content(dialect, key, value),
        library.content(dialect, key, value),
        mistakes,
        raises={NullValueError: code_of_refusal},
    )


def _short(part: bytes | None) -> str:
    return f"{len(part)} bytes" if part and len(part) > 9 else repr(part)


# ---- 1.4


class Damaged(NamedTuple):
    """A message with a fault; `codes` maps what an answer may take it for to the misconception."""

    what: str
    data: bytes
    codes: dict[type | Fault, str]


def exercise_4(compare: Comparer, decode: Callable[..., Any]) -> None:
    for dialect in BOTH:
        for key, value, attributes in (
            (None, b"message1", 0),
            (b"", b"v", 0),
            (b"key", b"", 0),
            (b"key", None if dialect.has_value_length else b"v", 0),
            (None, None if dialect.has_value_length else b"", 0),
            (b"\xff" * 300, b"\0" * 9, 0),
            (b"key", b"v", 1),
            (b"key", b"v", 9),
            (b"key", b"v", -1),
        ):
            _compare_sound(compare, decode, dialect, key, value, attributes)
    for dialect in BOTH:
        _compare_torn(compare, decode, dialect)
        for damaged in (*_damaged_sizes(dialect), *_damaged_messages(dialect)):
            _compare_damage(compare, decode, dialect, damaged, 0)
            among = damaged._replace(data=b"rest" + damaged.data + RECORD)
            _compare_damage(compare, decode, dialect, among, 4)
    data = CountedBytes(RECORD * MANY)
    decode(KAFKA, data, len(RECORD))
    what = f"bytes copied for one message of {len(RECORD)}"
    compare.at_most(what, sum(data.copied), 9 * len(RECORD), "copies-the-rest")


def _compare_sound(
    compare: Comparer,
    decode: Callable[..., Any],
    dialect: Dialect,
    key: bytes | None,
    value: bytes | None,
    attributes: int,
) -> None:
    for offset in (5, 0, 2**40 + 3, -1):
        data = (
            pack(">q", offset) + library.encode(dialect, 0, key, value, attributes=attributes)[8:]
        )
        right = library.decode(dialect, data)
        assert isinstance(right, Message)
        mistakes = {
            "null-key-as-empty": right._replace(key=key or b""),
            "null-as-empty": right._replace(value=value or b""),
            "empty-as-null": right._replace(key=key or None),
            "empty-value-as-null": right._replace(value=value or None),
            "attributes-ignored": right._replace(attributes=0),
        }
        for front, rest in ((b"", b""), (b"rest", b"next")):
            what = f"key {_short(key)}, value {_short(value)}, byte {len(front)}"
            call = f"decode({dialect.name}, {what})"
            got = decode(dialect, front + data + rest, len(front))
            kind = type(got).__name__
            is_refused = isinstance(got, CorruptMessage | NeedMoreBytes)
            is_smallest = right.size == dialect.overhead_bytes and kind == "CorruptMessage"
            code = "refuses-smallest" if is_smallest else None
            compare.holds(not is_refused, call, kind, "a Message", code)
            compare.equal(call, lambda got=got: got, right, mistakes)


def _compare_torn(compare: Comparer, decode: Callable[..., Any], dialect: Dialect) -> None:
    sound = library.encode(dialect, 5, b"key", b"value")
    other = sound[:16] + b"\2" + sound[17:]  # no message, but that is not to be said yet
    long = sound[:8] + b"\x7f" + sound[9:]  # 2 GB, of which the first bytes are there
    for data, what, code in (
        (sound, "", "torn-is-damage"),
        (other, "magic 2, ", "judges-early"),
        (long, "size of 2 GB, ", "torn-is-damage"),
    ):
        for end in range(len(data)):
            for front, place in ((b"", ()), (b"rest", (4,))):  # without a place it is 0
                torn = front + data[:end]
                right = library.decode(dialect, torn, *place)
                assert isinstance(right, NeedMoreBytes)
                got = decode(dialect, torn, *place)
                call = f"decode({dialect.name}, {what}{end} of {len(data)} bytes)"
                is_damage = isinstance(got, CorruptMessage)
                compare.holds(not is_damage, call, "damage", "NeedMoreBytes", code)
                mistakes = {
                    **(
                        {"only-what-is-missing": NeedMoreBytes(right.needed_bytes - end)}
                        if end != 12
                        else {}
                    ),
                    **(
                        {"size-without-12": NeedMoreBytes(right.needed_bytes - 12)}
                        if end > 11
                        else {}
                    ),
                    "needed-from-byte-0": NeedMoreBytes(right.needed_bytes + len(front)),
                }
                compare.equal(call, lambda got=got: got, right, mistakes)


def _raw(
    key_length: int, rest: bytes, *, magic: int = 0, size: int | None = None, crc_flip: int = 0
) -> bytes:
    """Return a message with offset 7 as someone may have damaged it; its crc is right, or flipped.

    `rest` is what stands after the key length.
    """
    after_crc = pack(">bbi", magic, 0, key_length) + rest
    size = 4 + len(after_crc) if size is None else size
    return pack(">qiI", 7, size, crc32(after_crc) ^ crc_flip) + after_crc


def _damaged_sizes(dialect: Dialect) -> Iterator[Damaged]:
    """Yield messages that are smaller than any can be; so more bytes would not help."""
    least = dialect.overhead_bytes
    for size in (-1, -(2**31), 0, 4, 9, least - 1):
        for end in (12, 30):
            data = _raw(-1, bytes(20), size=size)[:end]
            codes: dict[type | Fault, str] = {Message: "trust-length"}
            if size >= 0:
                codes[NeedMoreBytes] = "waits-for-too-small"
            yield Damaged(f"size {size} and {end} bytes", data, codes)


def _damaged_messages(dialect: Dialect) -> Iterator[Damaged]:
    """Yield whole messages with a fault: first with a right crc, then with a wrong one."""
    value = pack(">i", 5) + b"value" if dialect.has_value_length else b"value"
    length = 3 + len(value)
    misfit = {Message: "value-misfits", NeedMoreBytes: "value-misfits"}
    for magic in (1, 2, -1):
        data = _raw(3, b"key" + value, magic=magic)
        yield Damaged(f"magic {magic}", data, {Message: "accepts-other-magic"})
    late = {Fault.BAD_LENGTH: "magic-late", Fault.BAD_CRC: "magic-late"}
    for key_length in (2**31 - 1, length + 1, -2, -(2**31)):
        # Who takes a length below -1 for that of null compares, too.
        trust: dict[type | Fault, str] = {Message: "trust-length"} if key_length > 0 else {}
        what = f"a key length of {key_length}"
        yield Damaged(what, _raw(key_length, b"key" + value), trust)
        yield Damaged(f"{what}, magic 2", _raw(key_length, b"key" + value, magic=2), late)
    if dialect is KAFKA:
        for key_length in (length, length - 3):
            data = _raw(key_length, b"key" + value)
            yield Damaged(f"{length - key_length} bytes for a value length", data, trust)
        for number in (4, 6, 0, -1, -2, 2**31 - 1, -(2**31)):
            data = _raw(3, b"key" + pack(">i", number) + b"value")
            yield Damaged(f"a value length of {number}, 5 bytes", data, misfit)
        for number in (1, -2):
            data = _raw(3, b"key" + pack(">i", number))
            yield Damaged(f"a value length of {number}, 0 bytes", data, misfit)
    early: dict[type | Fault, str] = {Fault.BAD_CRC: "crc-before-lengths"}
    yield Damaged("magic 2, another crc", _raw(3, b"key" + value, magic=2, crc_flip=1), late)
    for key_length in (2**31 - 1, -2):
        data = _raw(key_length, b"key" + value, crc_flip=1)
        yield Damaged(f"a key length of {key_length}, another crc", data, early)
    if dialect is KAFKA:
        data = _raw(3, b"key" + pack(">i", 6) + b"value", crc_flip=1)
        yield Damaged("a value length of 6, another crc", data, early)
    for flip in (1, 1 << 31):
        yield Damaged("another crc", _raw(3, b"key" + value, crc_flip=flip), {})
    data = _raw(3, b"key" + value)
    yield Damaged("a crc of 0", data[:12] + bytes(4) + data[16:], {Message: "zero-is-no-crc"})
    for place, what in ((17, "attributes"), (22, "key"), (len(data) - 1, "value")):
        flipped = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
        yield Damaged(f"a changed {what}", flipped, {})


def _compare_damage(
    compare: Comparer, decode: Callable[..., Any], dialect: Dialect, damaged: Damaged, at: int
) -> None:
    """Compare class, fault and place of an outcome; the words of the detail are free."""
    right = library.decode(dialect, damaged.data, at)
    assert isinstance(right, CorruptMessage), damaged.what
    call = f"decode({dialect.name}, {damaged.what})"
    try:
        got = decode(dialect, damaged.data, at)
    except (struct.error, IndexError) as error:
        code = "trust-length" if right.fault is Fault.BAD_LENGTH else None
        return compare.holds(False, call, name_of(error), "an outcome", code)
    fault = got.fault if isinstance(got, CorruptMessage) else type(got)
    name = fault.__name__ if isinstance(fault, type) else str(fault)
    code = damaged.codes.get(fault)
    compare.holds(fault == right.fault, call, name, str(right.fault), code)
    return compare.equal(
        f"offset and length_bytes of {call}",
        lambda: (got.offset, got.length_bytes),
        (right.offset, right.length_bytes),
        {
            "damage-without-place": (0, 0),
            "size-without-12": (right.offset, right.length_bytes - 12),
        },
    )


# ---- 1.5


def exercise_5(compare: Comparer, scan: Callable[..., Any]) -> None:
    for dialect in BOTH:
        pairs = [(b"k", b"vvv"), (b"k", b""), (None, b"vv"), (b"", b"v")]
        data = [library.encode(dialect, n, *pair) for n, pair in enumerate(pairs, start=7)]
        sound = b"".join(data)
        lengths = [len(sound), 0, len(sound) - 1, len(data[0]) + 5, 5]
        for end in lengths:
            _compare_scan(compare, scan, dialect, sound[:end], f"{end} bytes")
        for start in (len(data[0]), len(sound) - len(data[3]), len(sound)):
            _compare_scan(compare, scan, dialect, sound, f"{len(sound)} bytes", start)
        for place, byte, what in (
            (11, 4, "size"),
            (16, 2, "magic"),
            (18, 1, "key length"),
            (22, 0, "key"),
        ):
            at = len(data[0]) + place
            damaged = sound[:at] + bytes([byte]) + sound[at + 1 :]
            _compare_scan(compare, scan, dialect, damaged, f"a changed {what}")
        others = [library.encode(dialect, n, b"k", b"v") for n in (7, 20, 20, 3)]
        what, stops = "offsets 7, 20, 20, 3", {"stops-at-gap": 1}
        _compare_scan(compare, scan, dialect, b"".join(others), what, stops=stops)
        packed = library.encode(dialect, 8, None, b"packed", attributes=1)
        what, stops = "a packed message between others", {"stops-at-packed": 2}
        _compare_scan(compare, scan, dialect, data[0] + packed + data[2], what, stops=stops)
    many = CountedBytes(RECORD * MANY)
    compare.equal(
        f"len(list(scan(kafka, {MANY} messages)))",
        lambda: sum(1 for _ in scan(KAFKA, many)),
        MANY,
        raises={RecursionError: "recursion-per-message"},
    )
    what = f"bytes copied of {len(many)}"
    compare.at_most(what, sum(many.copied), 9 * len(many), "copies-the-rest")


def _compare_scan(
    compare: Comparer,
    scan: Callable[..., Any],
    dialect: Dialect,
    data: bytes,
    what: str,
    start: int = 0,
    stops: dict[str, int] | None = None,
) -> None:
    """Compare one scan; `stops` maps codes to the number of outcomes after which they stop."""
    right = list(library.scan(dialect, data, start))
    whole = [(at, found) for at, found in right if isinstance(found, Message)]
    compare.equal(
        f"list(scan({dialect.name}, {what}{f', {start}' if start else ''}))",
        lambda: list(scan(dialect, data, start)),
        right,
        {
            "end-unsaid": whole,
            "end-is-no-outcome": [*whole, (len(data), NeedMoreBytes(12))],
            "position-behind": [
                (at + getattr(found, "length_bytes", 0), found) for at, found in right
            ],
            "scans-past-damage": list(_past_damage(dialect, data, start)),
            "steps-by-size": _by_size(dialect, data, start),
            "positions-from-start": [(at - start, found) for at, found in right],
            "ignores-start": list(library.scan(dialect, data)),
            **{code: right[:count] for code, count in (stops or {}).items()},
        },
    )


def _by_size(dialect: Dialect, data: bytes, at: int) -> list[tuple[int, Outcome]]:
    """Return what a scan gives that forgets the 12 bytes which the size does not count."""
    found: list[tuple[int, Outcome]] = []
    while at < len(data) and all(isinstance(outcome, Message) for _, outcome in found):
        found.append((at, library.decode(dialect, data, at)))
        at += getattr(found[-1][1], "size", 0)
    return found


def _past_damage(dialect: Dialect, data: bytes, at: int) -> Iterator[tuple[int, Outcome]]:
    """Yield what a scan gives that goes on after damage, as far as the size says."""
    while 0 <= at < len(data):
        found = library.decode(dialect, data, at)
        yield at, found
        length = getattr(found, "length_bytes", 0)
        if length <= 0:
            return
        at += length


# ---- 1.6


def solve_6(folder: Path) -> dict[str, Any]:
    """Return the right constants of exercise 6: the fields of the second message in the piece."""
    data = (folder / "files" / PIECE).read_bytes()
    position = len(RECORD) - PIECE_STARTS
    offset, size, crc = unpack_from(">qiI", data, position)
    (key_bytes,) = unpack_from(">i", data, position + 18)
    return {
        "SECOND_OFFSET": offset,
        "SECOND_CRC": crc,
        "SECOND_KEY": data[position + 22 : position + 22 + key_bytes],
        "THIRD_POSITION": position + 12 + size,
    }


def exercise_6(compare: Comparer, answers: dict[str, Any], folder: Path) -> None:
    right = solve_6(folder)
    little = int.from_bytes(right["SECOND_CRC"].to_bytes(4, "big"), "little")
    piece_bytes = (folder / "files" / PIECE).stat().st_size
    mistakes = {
        "SECOND_CRC": {"little-endian": little},
        "THIRD_POSITION": {
            "size-includes-12": right["THIRD_POSITION"] - 12,
            "end-is-what-is-there": piece_bytes,
        },
    }
    for name, value in right.items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes.get(name))


# ---- 1.10
# Its imports stand in it, as those of 1.11: the rest works without kminilog/broker_files.


def exercise_10(compare: Comparer, varint: Callable[..., Any]) -> None:
    from kminilog.broker_files.varint import encode_unsigned, zigzag

    numbers = [0, 1, -1, 3, -7, 63, 64, -64, -65, 300, 100_000, -100_000, 2**31 - 1, 2**63 - 1]
    for front in (b"", b"\xff\x01"):
        start = len(front)
        unsigned = list(map(zigzag, numbers))
        data = [encode_unsigned(number) for number in unsigned]
        ends = [start + len(one) for one in data]
        # What a reading makes of the bytes, as a number.
        readings = {
            "zigzag-left-out": unsigned,
            "eight-bits-a-byte": [_signed(_sum(one, 256, 0x7F)) for one in data],
            "top-bit-counted": [_signed(_or(one)) for one in data],
            "varint-shift-stays": [_signed(_or(one, 0x7F, 0)) for one in data],
            "varint-greatest-first": [_signed(_sum(one[::-1], 128, 0x7F)) for one in data],
            "zigzag-by-half": [-(n // 2) if n % 2 else n // 2 for n in unsigned],
            "zigzag-as-twos-complement": [
                n - (128 ** len(one) if one[-1] & 0x40 else 0)
                for n, one in zip(unsigned, data, strict=True)
            ],
        }
        pairs = [(code, list(zip(made, ends, strict=True))) for code, made in readings.items()]
        firsts = [(_signed(one[0] & 0x7F), start + 1) for one in data]
        pairs.append(("varint-of-one-byte", firsts))
        pairs.append(
            (
                "varint-ends-on-last-byte",
                [(n, end - 1) for n, end in zip(numbers, ends, strict=True)],
            )
        )
        right = list(zip(numbers, ends, strict=True))
        relative = [(number, end - start) for number, end in right]
        if start:
            pairs.append(("end-without-position", relative))
        compare.all_equal(
            [
                (
                    f"varint({(front + one).hex(' ')}{f', {start}' if start else ''})",
                    partial(varint, front + one + b"\x05", *([start] if start else [])),
                    pair,
                )
                for one, pair in zip(data, right, strict=True)
            ],
            pairs,
        )


def _signed(unsigned: int) -> int:
    """Return what zigzag makes of a number, as its definition says: 0, -1, 1, -2, ..."""
    return -((unsigned + 1) // 2) if unsigned % 2 else unsigned // 2


def _sum(data: bytes, base: int, mask: int) -> int:
    return sum((byte & mask) * base**place for place, byte in enumerate(data))


def _or(data: bytes, mask: int = 0xFF, bits: int = 7) -> int:
    found = 0
    for place, byte in enumerate(data):
        found |= (byte & mask) << bits * place
    return found


# ---- 1.11

HEADER_V2 = ">qiibIhiqqqhii"


def exercise_11(compare: Comparer, batch_header: Callable[..., Any]) -> None:
    from kminilog.broker_files.record_batch import decode_header

    batches = [
        _batch(3_000_000_000, last_delta=3, records=4, data_bytes=166),
        _batch(51, attributes=0x30, producer=4001),  # a marker of a transaction
        _batch(200, last_delta=9, records=2, data_bytes=300),  # after compaction
        _batch(100, last_delta=19, records=0, data_bytes=0),  # the same, and no record is left
        _batch(7, attributes=0x11, producer=4001),  # gzip, in a transaction
        _batch(9, attributes=0x0C),  # zstd, in the time of the broker
        _batch(2**40 + 3, last_delta=65_791, records=65_792, data_bytes=70_000),
    ]
    found = [decode_header(data) for data in batches]
    for front in (b"", b"rest of a batch"):
        start = len(front)
        right = [
            (
                one.base_offset,
                one.base_offset + one.last_offset_delta,
                one.attributes & 7,
                one.record_count,
                start + len(data),
            )
            for one, data in zip(found, batches, strict=True)
        ]
        little = [unpack_from("<" + HEADER_V2[1:], data) for data in batches]
        at_0 = [unpack_from(HEADER_V2, front + data) for data in batches]
        readings = [
            ("delta-as-offset", [(r[0], r[1] - r[0], *r[2:]) for r in right]),
            ("batch-without-12", [(*r[:4], r[4] - 12) for r in right]),
            (
                "codec-with-flags",
                [(*r[:2], h.attributes, *r[3:]) for r, h in zip(right, found, strict=True)],
            ),
            (
                "codec-in-upper-byte",
                [(*r[:2], h.attributes >> 8, *r[3:]) for r, h in zip(right, found, strict=True)],
            ),
            ("last-offset-by-count", [(r[0], r[0] + r[3] - 1, *r[2:]) for r in right]),
            ("counts-offsets", [(*r[:3], r[1] - r[0] + 1, r[4]) for r in right]),
            (
                "little-endian",
                [(f[0], f[0] + f[6], f[5] & 7, f[12], start + 12 + f[1]) for f in little],
            ),
        ]
        if start:
            wrong = [(f[0], f[0] + f[6], f[5] & 7, f[12], 12 + f[1]) for f in at_0]
            readings.append(("batch-at-byte-0", wrong))
            readings.append(("batch-at-byte-0", [(*w[:4], w[4] + start) for w in wrong]))
            readings.append(("end-without-position", [(*r[:4], r[4] - start) for r in right]))
        compare.all_equal(
            [
                (
                    f"batch_header({len(data)} bytes{f', {start}' if start else ''})",
                    partial(batch_header, front + data + RECORD, *([start] if start else [])),
                    one,
                )
                for data, one in zip(batches, right, strict=True)
            ],
            readings,
        )


def _batch(
    base_offset: int,
    *,
    last_delta: int = 0,
    records: int = 1,
    data_bytes: int = 9,
    attributes: int = 0,
    producer: int = -1,
) -> bytes:
    """Return a header whose crc nobody has computed, and as many other bytes."""
    front = pack(">qiibI", base_offset, 49 + data_bytes, 3, 2, 0xE97538BC)
    times = pack(">qq", 1_700_000_000_000, 1_700_000_100_000)
    tail = pack(">qhii", producer, -1, -1, records)
    return front + pack(">hi", attributes, last_delta) + times + tail + bytes(data_bytes)
