"""`dump` of a Kafka broker's files: batches and records, entries of indexes, damage included.

    offsets 0..3, byte 0: size 215, crc 028a3341, magic 2, attributes 0, 4 records, max time …
        offset 0, 2023-11-14T22:13:20.000Z, key "k", value "v", headers a="1"

A message of format v0 or v1 has the line that `dump` gives it elsewhere. Source: ours; Kafka:
DumpLogSegments.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any

import click

from kminilog.broker_files.byte_picture import fields_of_batch
from kminilog.broker_files.checkpoints import parse_leader_epochs, parse_producer_snapshot
from kminilog.broker_files.codecs import MAX_DECOMPRESSED_BYTES
from kminilog.broker_files.directory import BrokerDirectory
from kminilog.broker_files.entries import CorruptBatch, RecordBatch
from kminilog.broker_files.index_files import (
    IndexContents,
    parse_offset_index,
    parse_time_index,
    parse_transaction_index,
)
from kminilog.broker_files.log_file import DamagedBytes, walk_log
from kminilog.broker_files.message_set import LegacyMessage
from kminilog.broker_files.record import CorruptRecord, NotChecked, Record, RecordOutcome
from kminilog.broker_files.untouched import read_untouched
from kminilog.cli.broker_files.fields import batch_json, record_json, record_parts, time_text
from kminilog.cli.dump.command import (
    codec_part,
    damage_parts,
    entry_lines,
    header_parts,
    message_line,
)
from kminilog.cli.dump.selection import Selection
from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import warn, width, write_line, write_lines, write_record
from kminilog.format.names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    parse_segment_file,
    parse_topic_partition,
)
from kminilog.text import BAD, DOUBTFUL, Span, StyledText, agreeing, count, shown

_NO_SUCH_PLACE = 1
_CODES: dict[type, int] = {CorruptRecord: 1, NotChecked: 2}
_INDENT = "    "
_HEX_BYTES = 8  # of a field
Walked = RecordBatch | DamagedBytes
_INDEXES: dict[str, tuple[Callable[[bytes], IndexContents[Any]], int]] = {
    INDEX_SUFFIX: (parse_offset_index, 8),
    ".timeindex": (parse_time_index, 12),
    ".txnindex": (parse_transaction_index, 34),
}
"""How the entries of an index are read, and how many bytes each has."""
_WITH_OFFSETS = (INDEX_SUFFIX, ".timeindex")


def _selected(walked: Iterable[Walked], selection: Selection) -> Iterator[Walked]:
    """Yield what is asked for, from a byte or an offset on."""
    at, offset = selection.at, selection.offset

    def is_before(each: Walked) -> bool:
        end = each.end if isinstance(each, DamagedBytes) else each.position + each.length_bytes
        if at is not None:
            return end <= at
        if offset is None:
            return False
        return isinstance(each, DamagedBytes) or each.last_offset < offset

    return islice(dropwhile(is_before, walked), selection.limit)


@click.command("dump", epilog=example("kminilog dump orders-0 --print-data"))
@click.argument("where", metavar="FILE|TOPIC-P")
@click.option(
    "--at",
    type=click.IntRange(min=0),
    metavar="BYTE",
    help="Print only the batch or entry that holds this byte.",
)
@click.option(
    "--offset",
    type=click.IntRange(min=0),
    metavar="N",
    help="Print only the batch that holds this offset, or the next one; of an index, the entry at "
    "which the search for it begins.",
)
@click.option(
    "--count",
    "most",
    type=click.IntRange(min=1),
    metavar="N",
    help="Print N batches or entries, from --at or --offset on, or from the beginning.",
)
@click.option("--deep", is_flag=True, help="Print records, with --json in place of batches.")
@click.option(
    "--max-unpacked",
    type=click.IntRange(min=0),
    default=MAX_DECOMPRESSED_BYTES,
    metavar="BYTES",
    help="Limit on the decompressed size of one batch.",
)
@click.option("--print-data", is_flag=True, help="Print the records below each batch.")
@click.option("--hex", "as_hex", is_flag=True, help="Print the bytes of each batch, too, by field.")
@json_option
@click.pass_obj
def command(
    path: Path,
    where: str,
    at: int | None,
    offset: int | None,
    most: int | None,
    deep: bool,
    max_unpacked: int,
    print_data: bool,
    as_hex: bool,
    as_json: bool,
) -> int:
    """Print the batches of a Kafka broker's FILE, or of all segments of TOPIC-P.

    FILE is a .log of whatever format, an .index, .timeindex, .txnindex or .snapshot, or a
    leader-epoch-checkpoint. Nothing is written there.
    """
    if at is not None and offset is not None:
        raise click.UsageError("--at and --offset both name a place: give one of them")
    files, selection = [Path(where)], Selection(at, offset, most)
    if not files[0].is_file():
        partition = parse_topic_partition(where)
        if partition is None:
            told = "is no file, and no partition like orders-0; `kminilog ls` lists the segments"
            raise click.BadParameter(f"{where!r} {told}", param_hint="'FILE|TOPIC-P'")
        files = [one.log_path for one in BrokerDirectory(path).files_of(partition).segments]
        if at is not None:
            raise click.UsageError("--at is a byte of one file: name the file")
    elif files[0].suffix != LOG_SUFFIX:
        return _write_rows(files[0], selection, as_json=as_json, as_hex=as_hex)
    walked = _selected(_walk(files), selection)
    limit_bytes = max_unpacked if deep or print_data else None
    names_file, code, is_empty = len(files) > 1, 0, True
    for each in interruptible(walked):
        if isinstance(each, DamagedBytes):
            found = 1
            _write_damage(each, as_json=as_json, names_file=names_file)
        else:
            found = _write(each, limit_bytes, as_json=as_json, deep=deep, as_hex=as_hex)
        code, is_empty = max(code, found), False
    if is_empty and selection.is_of_one_place:
        warn(f"{where}: no batch holds {f'byte {at}' if at is not None else f'offset {offset}'}")
        return _NO_SUCH_PLACE
    return code


def _walk(files: list[Path]) -> Iterator[Walked]:
    """Yield what stands in these files; one that the broker deletes meanwhile is left out."""
    for file in files:
        with suppress(FileNotFoundError):
            yield from walk_log(file)


def _write(
    each: RecordBatch, limit_bytes: int | None, *, as_json: bool, deep: bool, as_hex: bool
) -> int:
    """Write a batch, and its records if there is a limit on their bytes; return the code."""
    if not as_json:
        write_line(batch_line(batch_json(each)))
        write_lines(_hex_lines(each) if as_hex else ())
    elif not deep:
        write_record(batch_json(each) | ({"hex": each.data.hex()} if as_hex else {}))
    code = 0
    for record in interruptible(each.records(limit_bytes)) if limit_bytes is not None else ():
        code = max(code, 0 if isinstance(record, Record) else _CODES[type(record)])
        if as_json and (deep or code):
            write_record(_outcome_json(each, record))
        elif not as_json:
            write_line(_record_line(each, record))
    return code


def _outcome_json(batch: RecordBatch, record: RecordOutcome) -> dict[str, Any]:
    if isinstance(record, Record):
        return record_json(batch, record)
    place = {"position": batch.position, "valid": False}
    if isinstance(record, CorruptRecord):
        return {**place, "fault": "bad-records", "detail": record.detail}
    return {**place, "valid": None, "detail": record.reason}


def _record_line(batch: RecordBatch, record: RecordOutcome) -> StyledText:
    if isinstance(record, CorruptRecord):
        return StyledText(_INDENT, Span(f"DAMAGED, bad-records: {record.detail}", BAD))
    if isinstance(record, NotChecked):
        return StyledText(_INDENT, Span(f"not read: {record.reason}", DOUBTFUL))
    if isinstance(batch.fields, LegacyMessage) and batch.codec == "none":
        return StyledText(_INDENT, *record_parts(batch, record, width() - len(_INDENT)))
    where = f"offset {record.offset}"
    room = width() - len(_INDENT) - len(where) - 2
    return StyledText(_INDENT, Span(where, "offset"), ", ", *record_parts(batch, record, room))


def batch_line(batch: dict[str, Any]) -> StyledText:
    """Return a batch, given as JSON, as one line; a message as `dump` writes it elsewhere."""
    if "base_offset" not in batch:
        time = f", {time_text(batch['timestamp'])}" if "timestamp" in batch else ""
        return StyledText(*message_line(batch).parts, time)
    of_producer = (
        f", producer {batch['producer_id']} epoch {batch['producer_epoch']} "
        f"sequence {batch['base_sequence']}"
    )
    return StyledText(
        Span(f"offsets {batch['base_offset']}..{batch['last_offset']}", "offset"),
        f", byte {batch['position']}: ",
        *header_parts(batch),
        f"{count(batch['count'], 'record')}, ",
        f"{batch['timestamp_type']} up to {time_text(batch['max_timestamp'])}, ",
        f"leader epoch {batch['leader_epoch']}",
        of_producer if batch["producer_id"] >= 0 else "",
        ", transactional" if batch["transactional"] else "",
        ", control" if batch["control"] else "",
        codec_part(batch),
    )


def _hex_lines(batch: RecordBatch) -> Iterator[str]:
    """Yield the fields of a batch: where in the file, the first bytes, what they say."""
    for field in fields_of_batch(batch.data):
        data = batch.data[field.position : field.position + field.length]
        shown_bytes = data[:_HEX_BYTES].hex(" ") + (" …" if len(data) > _HEX_BYTES else "")
        value = shown(field.value) if isinstance(field.value, bytes) else field.value
        said = f"{field.name} {'null' if value is None else value}"
        meaning = f": {field.meaning}" if field.meaning else ""
        yield f"  {batch.position + field.position:08}  {shown_bytes:25}  {said}{meaning}"


# ---- damage


def _write_damage(damage: DamagedBytes, *, as_json: bool, names_file: bool) -> None:
    found = _damage_json(damage)
    if as_json:
        write_record(found)
        return
    path = damage.path
    file = f"{path.parent.name}/{path.name}, " if names_file else ""
    write_line(StyledText(f"{file}byte {damage.position}: ", *damage_parts(found)))


def _damage_json(damage: DamagedBytes) -> dict[str, Any]:
    fault, detail = _fault(damage)
    outcome = damage.outcome
    return {
        "segment": damage.path.stem,
        "offset": outcome.offset if isinstance(outcome, CorruptBatch) else None,
        "position": damage.position,
        "valid": False,
        "fault": fault,
        "detail": detail,
        "skipped_bytes": damage.end - damage.position,
    }


def _fault(damage: DamagedBytes) -> tuple[str, str]:
    """Return the class of the damage, in the words of `verify`, and what is wrong."""
    if damage.is_padding:
        return (
            "torn-tail",
            "zeros up to the end, reserved or left by a power failure",
        )
    if isinstance(damage.outcome, CorruptBatch):
        return str(damage.outcome.fault), damage.outcome.detail
    here = damage.end - damage.position
    there = f"{here} {agreeing('are', here)} there"
    return "torn-tail", f"{damage.outcome.needed_bytes} bytes are needed, {there}"


# ---- other files


def _write_rows(path: Path, selection: Selection, *, as_json: bool, as_hex: bool) -> int:
    """Write what stands in a file that is no `.log`; return the exit code."""
    _, entry_bytes = _INDEXES.get(path.suffix, (None, 0))
    if not entry_bytes and (selection.at is not None or as_hex):
        raise click.UsageError("--at and --hex are for a .log or an index: name one")
    if path.suffix not in _WITH_OFFSETS and selection.offset is not None:
        raise click.UsageError(f"--offset is for {', '.join(_WITH_OFFSETS)} or .log: name one")
    data = read_untouched(path)
    rows, torn_bytes = _rows(path, data)
    chosen = [*selection.entries(iter(rows), entry_bytes)]
    if selection.is_of_one_place and not chosen:
        place = f"offset {selection.offset} or below"
        place = place if selection.at is None else f"byte {selection.at}"
        warn(f"{path}: no entry for {place}")
        return _NO_SUCH_PLACE
    for row in interruptible(chosen):
        if as_hex:
            start = row["index_position"]
            row["hex"] = data[start : start + entry_bytes].hex()
        if as_json:
            write_record(row)
        elif path.suffix == INDEX_SUFFIX:
            write_lines(entry_lines(row))
        else:
            words = (f"{name.replace('_', ' ')} {number}" for name, number in row.items())
            write_line(", ".join(words))
    if torn_bytes:
        warn(f"{path}: DAMAGED: {count(torn_bytes, 'byte')} at the end, less than an entry")
    return int(torn_bytes > 0)


def _rows(path: Path, data: bytes) -> tuple[list[dict[str, Any]], int]:
    """Return the entries of a file, and how many bytes at its end are none.

    Raises ValueError for damage, and for a file that is none of these.
    """
    try:
        if path.suffix == ".snapshot":
            return [one._asdict() for one in parse_producer_snapshot(data)], 0
        if path.name == "leader-epoch-checkpoint":
            return [one._asdict() for one in parse_leader_epochs(data)], 0
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    if path.suffix not in _INDEXES:
        raise ValueError(f"{path}: dump reads no such file; `kminilog ls` says what it is")
    parse, entry_bytes = _INDEXES[path.suffix]
    base_offset, _ = parse_segment_file(path.stem + LOG_SUFFIX) or (0, "")
    found = parse(data)
    rows = []
    for number, entry in enumerate(found.entries):
        row = entry._asdict()
        if "relative_offset" in row:
            row["offset"] = base_offset + row["relative_offset"]
        rows.append({**row, "index_position": number * entry_bytes})
    return rows, found.torn_bytes
