"""`kminilog dump`: every message of a .log file, or every entry of an .index file, damage included.

The dialect of a `.log` is that of the option; else that of the topic whose partition directory
holds the file; else the documented one (with --format kafka that of Kafka).
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from kminilog.cli.interrupts import interruptible
from kminilog.cli.kafka_dump import index_lines, is_complaint, log_lines
from kminilog.cli.layout import dialect_of
from kminilog.cli.log_dump import Dumped, read_index, read_log
from kminilog.cli.message_fields import hex_lines
from kminilog.cli.options import dialect_option, example, json_option
from kminilog.cli.output import complain, is_terminal, warn, write_bytes, write_line, write_record
from kminilog.cli.unpacking import MAX_UNPACKED_BYTES, Unpacking
from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.plain_text import count, shown

_HEX_BYTES = 512
_NOT_ALL = 2


@click.command(
    "dump",
    epilog=example("kminilog dump kminilog-data/orders-0/00000000000000000000.log --print-data"),
)
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--hex", "as_hex", is_flag=True, help="Print the bytes of each message, too.")
@click.option(
    "--deep",
    is_flag=True,
    help="Decompress compressed messages and print the messages inside (gzip only).",
)
@click.option(
    "--max-unpacked",
    type=click.IntRange(min=0),
    default=MAX_UNPACKED_BYTES,
    show_default=True,
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
    help="Output format; kafka prints exactly the lines of Kafka 0.8.2's DumpLogSegments.",
)
@json_option
def command(
    file: str,
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
    documented, unless --dialect says otherwise.
    """
    path = Path(file)
    if path.suffix not in (LOG_SUFFIX, INDEX_SUFFIX):
        raise click.UsageError(f"{file} is neither a {LOG_SUFFIX} nor an {INDEX_SUFFIX} file")
    is_kafka = line_format == "kafka"
    if is_kafka and as_json:
        raise click.UsageError("--format kafka prints lines, not JSON: drop one of the two")
    unpacking = Unpacking(max_unpacked, warn) if deep else None
    complaints: list[str] = []
    if path.suffix == INDEX_SUFFIX and is_kafka:
        return _write_kafka(index_lines(file, complaints), complaints)
    if path.suffix == INDEX_SUFFIX:
        return _write_index(path, as_json)
    dialect = dialect or dialect_of(path) or (KAFKA if is_kafka else DOCUMENTED)
    if is_kafka:
        next(read_log(path, dialect), None)  # a file that is no log is refused in all formats
        lines = log_lines(file, dialect, complaints, print_data=print_data, unpacking=unpacking)
        code = _write_kafka(lines, complaints)
    else:
        found = read_log(path, dialect, unpacking=unpacking)
        code = _write_log(found, dialect, as_json=as_json, as_hex=as_hex, print_data=print_data)
    return _NOT_ALL if unpacking and unpacking.cut_count else code


def _write_log(
    found: Iterable[Dumped], dialect: Dialect, *, as_json: bool, as_hex: bool, print_data: bool
) -> int:
    exit_code = 0
    for dumped in interruptible(found):
        if as_json:
            write_record(dumped.record | ({"hex": dumped.data(dialect).hex()} if as_hex else {}))
        else:
            _write_text(dumped, print_data)
            _write_hex(dumped.record["position"], dumped.data(dialect) if as_hex else b"")
        exit_code = max(exit_code, int(not dumped.record["valid"]))
    return exit_code


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


def _write_index(path: Path, as_json: bool) -> int:
    exit_code = 0
    for record in interruptible(read_index(path)):
        is_damage = record["offset"] is None
        exit_code = max(exit_code, int(is_damage))
        if as_json:
            write_record(record)
        elif is_damage:
            skipped = count(record["skipped_bytes"], "byte")
            write_line(f"DAMAGED: {record['fault']}, {record['detail']}; {skipped} left out")
        else:
            offset, position = record["offset"], record["position"]
            write_line(f"offset {offset} at byte {position} (relative {record['relative_offset']})")
    return exit_code


def _write_text(dumped: Dumped, print_data: bool) -> None:
    write_line(_text(dumped.record))
    message = dumped.message
    if print_data and message:
        write_line(f"    key {shown(message.key)}, value {shown(message.value)}")


def _write_hex(position: int, data: bytes) -> None:
    for line in hex_lines(position, data[:_HEX_BYTES]):
        write_line(f"    {line}")
    if len(data) > _HEX_BYTES:
        write_line(f"    … {count(len(data) - _HEX_BYTES, 'byte')} more")


def _text(record: dict[str, Any]) -> str:
    if not record["valid"]:
        skipped = count(record["skipped_bytes"], "byte")
        return (
            f"offset {_known(record['offset'])} at byte {record['position']}: DAMAGED, "
            f"{record['fault']}: {record['detail']}; {skipped} left out"
        )
    inside = ", inside a compressed one" if record.get("deep") else ""
    codec = f", compressed with {record['codec']}" if record["codec"] != "none" else ""
    return (
        f"offset {record['offset']} at byte {record['position']}{inside}: "
        f"size {record['size']}, crc {record['crc']:08x}, magic {record['magic']}, "
        f"attributes {record['attributes']}, key {_size(record['key_size'])}, "
        f"value {_size(record['value_size'])}{codec}"
    )


def _known(number: int | None) -> str:
    return "?" if number is None else str(number)


def _size(number: int) -> str:
    return "null" if number < 0 else count(number, "byte")
