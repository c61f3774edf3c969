"""`kminilog dump`: every message of a .log file, or every entry of an .index file, damage included.

With `--at` or `--offset` it shows what is at one place: the findings of `verify` ask for that. The
dialect of a `.log` is that of the option; else that of the topic whose partition directory holds
the file; else it is seen in the bytes, and a line on stderr names it.

    offset 7, byte 32: size 22, crc 4b41698d, magic 0, attributes 0, key 4 bytes, value 6 bytes
    offset ?, byte 66: DAMAGED, bad-crc: crc is ...; 34 bytes left out
    offset 8, byte 64 (relative 3)
        in the .log: the message with offset 9 begins at that byte

The words for damage are those of `verify`. Source: ours.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click

from kminilog.cli.dump.kafka_lines import index_lines, is_complaint, log_lines
from kminilog.cli.dump.reading import Dumped, index_bytes, message_beside, read_index, read_log
from kminilog.cli.dump.selection import Selection
from kminilog.cli.dump.unpacking import MAX_UNPACKED_BYTES, Unpacking
from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.message_fields import entry_hex_lines, hex_lines, key_and_value
from kminilog.cli.shared.named_files import SegmentFile
from kminilog.cli.shared.options import dialect_option, example, json_option
from kminilog.cli.shared.output import (
    complain,
    is_terminal,
    warn,
    width,
    write_bytes,
    write_line,
    write_lines,
    write_record,
)
from kminilog.cli.shared.topic_files import FileDialect, dialect_of, partition_of_file
from kminilog.errors import typed
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    parse_segment_file,
    parse_topic_partition,
)
from kminilog.text import BAD, QUIET, Span, StyledText, count, indented

_NO_SUCH_PLACE = 1
_NOT_ALL = 2
_HEX_BYTES = 512
_INDENT = "    "


@click.command(
    "dump",
    epilog=example("kminilog dump kminilog-data/orders-0/00000000000000000000.log --print-data"),
)
@click.argument("file", type=SegmentFile())
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="BYTE",
    help="Print only the message, the damage or the index entry that holds this byte of the file.",
)
@click.option(
    "--offset",
    type=click.IntRange(min=0),
    metavar="N",
    help="Print only the message with this offset, or the damage in its place; of an index, the "
    "entry at which the search for it begins.",
)
@click.option(
    "--count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print N messages or entries, from --at or --offset on, or from the beginning.",
)
@click.option(
    "--hex", "as_hex", is_flag=True, help="Print the bytes of each message or entry, too."
)
@click.option(
    "--deep",
    is_flag=True,
    help="Decompress compressed messages and print the messages inside (gzip only).",
)
@click.option(
    "--max-unpacked",
    type=click.IntRange(min=0),
    default=MAX_UNPACKED_BYTES,
    metavar="BYTES",
    help="With --deep: limit on the decompressed size of one message.",
)
@click.option(
    "--print-data", is_flag=True, help="Print keys and values, too (JSON always has them)."
)
@dialect_option
@click.option(
    "--format",
    "line_format",
    type=click.Choice(["text", "kafka"]),
    default="text",
    show_default=False,
    help="Output format; kafka prints exactly the lines of Kafka 0.8.2's DumpLogSegments.",
)
@json_option
def command(
    file: str,
    at: int | None,
    offset: int | None,
    count: int | None,
    as_hex: bool,
    deep: bool,
    max_unpacked: int,
    print_data: bool,
    dialect: Dialect | None,
    line_format: str,
    as_json: bool,
) -> int:
    """Print all entries of a segment's .log or .index FILE.

    The dialect is that of the topic whose directory holds the file. For a file elsewhere it is
    seen in the bytes; where they are not clear, --dialect decides.
    """
    path, is_kafka, selection = Path(file), line_format == "kafka", Selection(at, offset, count)
    if at is not None and offset is not None:
        raise click.UsageError("--at and --offset both name a place: give one of them")
    if is_kafka and as_json:
        raise click.UsageError("--format kafka prints lines, not JSON: drop one of the two")
    if is_kafka and selection != Selection():
        raise click.UsageError("--format kafka prints whole files: drop --at, --offset, --count")
    if is_kafka and as_hex:
        raise click.UsageError("--format kafka prints no bytes: drop one of --format and --hex")
    size_bytes = path.stat().st_size
    if at is not None and at >= size_bytes:
        held = f"its last byte is {size_bytes - 1}" if size_bytes else "it is empty"
        raise ValueError(f"{path} has no byte {at}: {held}")
    unpacking = Unpacking(max_unpacked, warn) if deep else None
    complaints: list[str] = []
    if path.suffix == INDEX_SUFFIX and is_kafka:
        return _write_kafka(index_lines(file, complaints), complaints)
    if path.suffix == INDEX_SUFFIX:
        return _write_index(path, dialect, selection, as_json, as_hex)
    read_as = dialect_of(path, dialect, default=KAFKA if is_kafka else DOCUMENTED)
    # A file that is no log is refused in all formats, before anything else is said of it.
    next(read_log(path, read_as.dialect, of_topic=partition_of_file(path) is not None), None)
    kafka_lines = log_lines(
        file, read_as.dialect, complaints, print_data=print_data, unpacking=unpacking
    )
    first_lines = [next(kafka_lines)] if is_kafka else []
    if read_as.said:
        warn(read_as.said)
    if is_kafka:
        code = _write_kafka(chain(first_lines, kafka_lines), complaints)
    else:
        flags = (as_json, as_hex, print_data)
        code = _write_log(path, read_as, selection, unpacking, *flags)
    return _NOT_ALL if unpacking and unpacking.cut_count else code


def _write_log(
    path: Path,
    read_as: FileDialect,
    selection: Selection,
    unpacking: Unpacking | None,
    as_json: bool,
    as_hex: bool,
    print_data: bool,
) -> int:
    dialect = read_as.dialect
    base_offset, _ = parse_segment_file(path.name) or (0, "")
    of_topic = partition_of_file(path) is not None
    read = interruptible(read_log(path, dialect, unpacking=unpacking, of_topic=of_topic))
    damaged = shown = False
    for dumped in selection.messages(iter(read), dialect, dialect.first_offset(base_offset)):
        if as_json:
            more = {"hex": dumped.data(dialect).hex()} if as_hex else {}
            write_record(dumped.record(dialect) | read_as.record() | more)
        else:
            write_lines(message_lines(dumped, dialect, print_data=print_data, as_hex=as_hex))
        shown, damaged = True, damaged or dumped.is_damage
    if shown or selection.offset is None:
        _say_if_empty(path, "message", as_json)
        return int(damaged)
    partition = parse_topic_partition(path.absolute().parent.name)
    other = f"{typed('find', partition or 'TOPIC-P', selection.offset)} looks in all segments"
    warn(f"{path}: no message with offset {selection.offset}; {other}")
    return _NO_SUCH_PLACE


def _write_index(
    path: Path, chosen: Dialect | None, selection: Selection, as_json: bool, as_hex: bool
) -> int:
    log_path = path.with_suffix(LOG_SUFFIX)
    read_as = None
    if selection.is_of_one_place and log_path.is_file():
        read_as = dialect_of(log_path, chosen)
        if read_as.said:
            warn(read_as.said)
    damaged = shown = False
    for record in selection.entries(iter(interruptible(read_index(path)))):
        if read_as and record["offset"] is not None:
            record |= message_beside(path, read_as.dialect, record["position"])
            record |= read_as.record()
        if as_hex:
            record["hex"] = index_bytes(path, record).hex()
        if as_json:
            write_record(record)
        else:
            write_lines(entry_lines(record))
        shown, damaged = True, damaged or record["offset"] is None or _leads_astray(record)
    if shown or selection.offset is None:
        _say_if_empty(path, "entry", as_json)
        return int(damaged)
    start = "a search for it begins at byte 0 of the .log"
    warn(f"{path}: no entry for offset {selection.offset} or below; {start}")
    return _NO_SUCH_PLACE


def _leads_astray(record: dict[str, Any]) -> bool:
    """Tell if an entry leads to no message, or to another one than its own.

    Its own may be inside a compressed message, which has the offset of the last one inside.
    """
    offset, found = record["offset"], record.get("log_offset", record["offset"])
    return bool(found != offset and not ("log_codec" in record and found > offset))


def _say_if_empty(path: Path, what: str, as_json: bool) -> None:
    if not as_json and not path.stat().st_size:
        write_line(f"{path} is empty: no {what} yet")


def _write_kafka(lines: Iterator[str], complaints: list[str]) -> int:
    has_damage = False
    for line in interruptible(lines):
        if is_terminal():
            write_line(line)
        else:  # exactly what Kafka writes
            write_bytes(line.encode("utf-8", "surrogateescape"))
        has_damage |= is_complaint(line)
    for complaint in complaints:
        complain(complaint)
    return int(has_damage or bool(complaints))


# ---- lines for people


def message_lines(
    dumped: Dumped, dialect: Dialect, *, print_data: bool, as_hex: bool
) -> Iterator[str]:
    """Yield the lines of a message, or of damage: with key and value, and with its bytes."""
    record, message = dumped.record(dialect), dumped.message
    if message is None:
        yield _damage(record)
    else:
        yield message_line(record)
        if print_data:
            yield StyledText(_INDENT, *key_and_value(message, width() - len(_INDENT)))
    if as_hex:
        data = dumped.data(dialect)
        yield from _bytes(data, hex_lines(dialect, record["position"], data[:_HEX_BYTES]))


def entry_lines(record: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an index entry: what the log has there, and its bytes, if it has them."""
    yield from _entry(record)
    if "hex" in record:
        data = bytes.fromhex(record["hex"])
        yield from _bytes(data, entry_hex_lines(record["index_position"], data[:_HEX_BYTES]))


def _bytes(data: bytes, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the first bytes of some data, and how many more there are."""
    for line in lines:
        yield indented(line, "  ")
    if len(data) > _HEX_BYTES:
        yield f"  … {count(len(data) - _HEX_BYTES, 'byte')} more"


def _entry(record: dict[str, Any]) -> Iterator[str]:
    if record["offset"] is None:
        yield StyledText(*damage_parts(record))
        return
    offset, position, relative = record["offset"], record["position"], record["relative_offset"]
    where = Span(f"offset {offset}", "offset")
    yield StyledText(where, ", ", Span(f"byte {position}", "position"), f" (relative {relative})")
    if "log_offset" not in record:
        return
    found = record["log_offset"]
    if found is None:
        yield StyledText("    in the .log: ", Span("no whole message begins at that byte", BAD))
    elif found == offset:
        yield "    in the .log: the message with this offset begins at that byte"
    else:
        what = "a compressed message up to" if "log_codec" in record else "the message with"
        said = f"{what} offset {found} begins at that byte"
        yield StyledText("    in the .log: ", Span(said, BAD if _leads_astray(record) else ""))


def message_line(record: dict[str, Any]) -> StyledText:
    """Return a message, given as JSON, in one line, without key and value."""
    inside = ", inside a compressed one" if record.get("deep") else ""
    return StyledText(
        Span(f"offset {record['offset']}", "offset"),
        f", byte {record['position']}{inside}: ",
        *header_parts(record),
        Span(f"key {_size(record['key_size'])}", "key"),
        ", ",
        Span(f"value {_size(record['value_size'])}", "value"),
        codec_part(record),
    )


def header_parts(record: dict[str, Any]) -> Iterator[Span | str]:
    """Yield the fields in front of what a message, or a batch, holds: its JSON has them all."""
    for field, said in (
        ("size", record["size"]),
        ("crc", f"{record['crc']:08x}"),
        ("magic", record["magic"]),
        ("attributes", record["attributes"]),
    ):
        yield Span(f"{field} {said}", field)
        yield ", "


def codec_part(record: dict[str, Any]) -> Span:
    """Return the end of such a line: how a message, or a batch, is compressed."""
    return Span(f", compressed with {record['codec']}" if record["codec"] != "none" else "", QUIET)


def damage_parts(record: dict[str, Any]) -> tuple[Span | str, ...]:
    """Return what is wrong with some bytes, given as JSON, and how many they are."""
    damage = Span(f"DAMAGED, {record['fault']}: {record['detail']}", BAD)
    return damage, f"; {count(record['skipped_bytes'], 'byte')} left out"


def _damage(record: dict[str, Any]) -> StyledText:
    offset = "?" if record["offset"] is None else record["offset"]
    return StyledText(f"offset {offset}, byte {record['position']}: ", *damage_parts(record))


def _size(number: int) -> str:
    return "null" if number < 0 else count(number, "byte")
