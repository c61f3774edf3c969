"""Checks of lab 1: one message, byte by byte."""

from collections.abc import Callable
from pathlib import Path
from struct import pack, unpack_from
from typing import Any
from zlib import crc32

from kminilog.course.comparing import Comparer
from kminilog.errors import NullValueError
from kminilog.format import message as library
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import CorruptMessage, Fault, Message, NeedMoreBytes

# A message that a learner of Kafka found on his disk: no key, the value "message1", offset 0.
RECORD = bytes.fromhex(
    "0000000000000000 00000016 e97538bc 00 00 ffffffff 00000008 6d65737361676531"
)
CONTENTS = (b"", b"\x00" * 10, b"content of a message")


FILE = "00000000000000000000.log"
PIECE = "piece.bin"
PIECE_STARTS = 34 - 14  # with the last 14 bytes of RECORD
LOST_BYTES = 3


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a segment of four messages, and a piece of another one, which no command can read.

    The second message of the piece has the student's name as its key, and lacks its end.
    """
    pairs = [(None, b"message1"), (name.encode(), b"is my name"), (b"", b"no key?"), (b"k", b"")]
    data = [library.encode(KAFKA, offset, *pair) for offset, pair in enumerate(pairs)]
    (folder / FILE).write_bytes(b"".join(data))
    second = library.encode(KAFKA, 368769 + seed % 1000, *pairs[1])
    (folder / PIECE).write_bytes(RECORD[PIECE_STARTS:] + second[:-LOST_BYTES])


def exercise_1(compare: Comparer, header: Callable[..., Any]) -> None:
    compare.equal(
        "header(0, 18 bytes)",
        lambda: header(0, RECORD[16:]),
        RECORD[:12],
        {
            "little-endian": pack("<qi", 0, 22),
            "size-includes-12": pack(">qi", 0, 34),
            "size-skips-crc": pack(">qi", 0, 18),
        },
    )
    for offset in (1, 255, 368776, 2**40 + 3):
        for content in CONTENTS:
            size = 4 + len(content)
            compare.equal(
                f"header({offset}, {len(content)} bytes)",
                lambda offset=offset, content=content: header(offset, content),
                pack(">qi", offset, size),
                {
                    "little-endian": pack("<qi", offset, size),
                    "size-includes-12": pack(">qi", offset, size + 12),
                    "size-skips-crc": pack(">qi", offset, size - 4),
                },
            )


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
    for dialect in (DOCUMENTED, KAFKA):
        for key, value in (
            (None, b"x"),
            (b"", b""),
            ("键".encode(), "值".encode()),
            (b"k" * 300, b"v"),
        ):
            data = library.encode(dialect, 7, key, value)
            zeroed = data[:12] + bytes(4) + data[16:]
            compare.equal(
                f"checksum({len(data)} bytes, {dialect.name})",
                lambda data=data: checksum(data),
                crc32(data[16:]),
                {
                    "crc-payload": crc32(value),
                    "crc-whole": crc32(zeroed),
                    "crc-of-offset": crc32(data),
                    "crc-of-itself": crc32(data[12:]),
                    "crc-skips-header": crc32(data[18:]),
                },
            )


def exercise_3(compare: Comparer, content: Callable[..., Any]) -> None:
    for key, value in (
        (None, b"message1"),
        (b"", b"v"),
        (b"key", b""),
        (b"", b""),
        ("键".encode(), "值".encode()),
    ):
        for dialect in (DOCUMENTED, KAFKA):
            compare.equal(
                f"content({dialect.name}, {key!r}, {value!r})",
                lambda dialect=dialect, key=key, value=value: content(dialect, key, value),
                library.content(dialect, key, value),
                {
                    "null-as-empty": library.content(dialect, key or b"", value),
                    "empty-as-null": library.content(dialect, key or None, value),
                    "length-missing": pack(">bb", 0, 0) + (key or b"") + value,
                    "value-length-missing": library.content(DOCUMENTED, key, value),
                    "value-length-added": library.content(KAFKA, key, value),
                },
            )
    for key in (None, b"k"):
        compare.equal(
            f"content(kafka, {key!r}, None)",
            lambda key=key: content(KAFKA, key, None),
            library.content(KAFKA, key, None),
            {"null-as-empty": library.content(KAFKA, key, b"")},
        )
        compare.refuses(
            f"content(documented, {key!r}, None)",
            lambda key=key: content(DOCUMENTED, key, None),
            NullValueError,
            {"null-as-empty": library.content(DOCUMENTED, key, b"")},
        )
    compare.equal(
        "content(kafka, b'k', b'v', attributes=1)",
        lambda: content(KAFKA, b"k", b"v", attributes=1),
        library.content(KAFKA, b"k", b"v", attributes=1),
        {"attributes-ignored": library.content(KAFKA, b"k", b"v")},
    )


def exercise_4(compare: Comparer, decode: Callable[..., Any]) -> None:
    for dialect in (DOCUMENTED, KAFKA):
        for key, value in ((None, b"message1"), (b"", b"v"), (b"key", b"")):
            data = library.encode(dialect, 5, key, value)
            right = library.decode(dialect, data)
            assert isinstance(right, Message)
            call = f"decode({dialect.name}, {key!r} and {value!r})"
            mistakes = {
                "null-as-empty": right._replace(key=key or b""),
                "empty-as-null": right._replace(key=key or None),
            }
            compare.equal(call, lambda d=dialect, b=data: decode(d, b), right, mistakes)
            behind = lambda d=dialect, b=data: decode(d, b"rest" + b + b"next", 4)  # noqa: E731
            compare.equal(f"{call[:-1]} at byte 4)", behind, right, mistakes)
        data = library.encode(dialect, 5, b"key", b"value")
        for end in range(len(data)):
            right = library.decode(dialect, data[:end])
            got = decode(dialect, data[:end])
            call = f"decode({dialect.name}, {end} of {len(data)} bytes)"
            is_damage = isinstance(got, CorruptMessage)
            compare.holds(not is_damage, call, "damage", "NeedMoreBytes", "torn-is-damage")
            compare.equal(call, lambda got=got: got, right)
        for place, byte, what in (
            (8, 0x7F, "a size of 2 GB"),
            (8, 0xFF, "a size below 0"),
            (18, 0x7F, "a key length of 2 GB"),
            (18, 0x80, "a key length below -1"),
            (16, 2, "magic 2"),
            (len(data) - 1, 0, "another value"),
            (14, 0x55, "another crc"),
        ):
            damaged = data[:place] + bytes([byte]) + data[place + 1 :]
            _compare_damage(compare, decode, dialect, damaged, what)


def _compare_damage(
    compare: Comparer, decode: Callable[..., Any], dialect: Any, data: bytes, what: str
) -> None:
    """Compare the class of an outcome, and the fault; the words of the detail are free."""
    right = library.decode(dialect, data)
    call = f"decode({dialect.name}, {what})"
    try:
        got = decode(dialect, data)
    except Exception as error:  # noqa: BLE001 - whatever the student's code raises
        return compare.holds(False, call, type(error).__name__, "an outcome", "trust-length")
    if isinstance(right, NeedMoreBytes):
        return compare.equal(call, lambda: got, right)
    fault = getattr(got, "fault", type(got).__name__)
    code = "trust-length" if right.fault is Fault.BAD_LENGTH else None
    if code and fault == Fault.BAD_CRC and "key" in what:
        code = "crc-before-lengths"
    return compare.holds(fault == right.fault, call, str(fault), str(right.fault), code)


def exercise_5(compare: Comparer, scan: Callable[..., Any]) -> None:
    for dialect in (DOCUMENTED, KAFKA):
        data = b"".join(library.encode(dialect, n, b"k", b"v" * n) for n in range(4))
        for end in (0, len(data), len(data) - 1, len(data) - 20, 5):
            right = list(library.scan(dialect, data[:end]))
            whole = [pair for pair in right if isinstance(pair[1], Message)]
            call = f"list(scan({dialect.name}, {end} of {len(data)} bytes))"
            give = lambda d=dialect, b=data[:end]: list(scan(d, b))  # noqa: E731
            compare.equal(call, give, right, {"end-unsaid": whole})
        flipped = data[:60] + bytes([data[60] ^ 1]) + data[61:]
        right = list(library.scan(dialect, flipped))
        call = f"list(scan({dialect.name}, a changed byte))"
        got = list(scan(dialect, flipped))
        counts = f"{len(got)} outcomes", f"{len(right)} outcomes"
        compare.holds(len(got) <= len(right), call, *counts, "scans-past-damage")
        compare.equal(call, lambda got=got: got, right)
        first = library.encode(dialect, 0, b"k", b"")
        start = len(first)
        give = lambda d=dialect, b=data, p=start: list(scan(d, b, p))  # noqa: E731
        compare.equal(
            f"list(scan({dialect.name}, data, {len(first)}))",
            give,
            list(library.scan(dialect, data, len(first))),
            {"ignores-start": list(library.scan(dialect, data))},
        )


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
