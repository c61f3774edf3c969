"""The bench of a message: its bytes can be changed, and the engine says what follows.

    decode             valid, unfinished, bad-length, bad-magic or bad-crc
    wrong_byte_in      the one byte or bit that is wrong, if the checksum can tell
    check_partition    what `verify` finds, with two messages after it and with none
    plan_recovery      what `recover` would do, there and there

The logs stand in temporary directories. Bytes in red are those that the engine does not believe.
Source: ours; S1 5.2.
"""

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise

from kminilog.course.benches.bench import Bench, BenchAct, BenchField, act_words, whole_number
from kminilog.course.steps.temporary_partition import reader_of, temporary_log
from kminilog.explain.document import (
    Bar,
    ByteRange,
    Document,
    Field,
    File,
    Picture,
    PictureLane,
    Table,
    Value,
)
from kminilog.explain.field_layout import message_fields
from kminilog.explain.file_pictures import files_picture, stacked
from kminilog.explain.recording import Recording
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.format.message import (
    CRC_END,
    SIZE_END,
    CorruptMessage,
    Fault,
    KeyValue,
    Message,
    NeedMoreBytes,
    Outcome,
    checksum,
    decode,
    encode,
)
from kminilog.settings import TopicSettings
from kminilog.storage.partition.recovery import RecoveryPlan, ValidEnd, plan_recovery
from kminilog.storage.segment.damage_scan import wrong_byte_in
from kminilog.text import count
from kminilog.verification.manifest_checks import PartitionJobs
from kminilog.verification.partition_checks import check_partition

MAX_MESSAGE_BYTES = 256
AFTER: tuple[KeyValue, ...] = ((None, b"next"), (None, b"last"))
_FILE = "message"
_NOT_BELIEVED = "lost"  # the style of what is red


def document(fields: Mapping[str, str], acts: Sequence[str]) -> Document:
    """Return one step: the bytes as they are now, and what the engine says of them."""
    dialect = DIALECTS[fields["dialect"]]
    key, value = (fields[name].encode(errors="replace") for name in ("key", "value"))
    message = key or None, value
    data = encode(dialect, 0, *message)
    if len(data) > MAX_MESSAGE_BYTES:
        raise ValueError(f"the message has {len(data)} bytes; at most {MAX_MESSAGE_BYTES}")
    now = changed(data, acts)
    outcome = decode(dialect, now)
    different = [ByteRange(_FILE, at, at + 1) for at, byte in enumerate(now) if byte != data[at]]
    named = _marked(outcome, message_fields(_FILE, dialect, 0, now), now)
    values: dict[str, Value] = {
        "crc in the message": now[SIZE_END:CRC_END].hex(),
        "crc of its bytes": f"{checksum(now):08x}",
        "next message at byte": next_position(now),
    }
    recording = Recording("record", BENCH.title)
    recording.file(_FILE, now, named)
    bytes_picture = files_picture([File(_FILE, now, 0, len(now))], named, {_FILE: len(now)}, ())
    assert bytes_picture
    recording.step(
        _say(dialect, outcome, now, len(different)),
        focus=different,
        values=values,
        tables=[_meanings(dialect, data, now), _in_logs(dialect, message, now)],
        picture=stacked(bytes_picture, Picture("The bytes, to scale", (_log_lane(dialect, now),))),
    )
    return recording.document()


def changed(data: bytes, acts: Sequence[str]) -> bytes:
    """Return the bytes after each act `set 58 3a`, which takes several bytes, too.

    >>> changed(b"abc", ["set 1 42", "set 0 4142"])
    b'ABc'
    """
    for act in acts:
        _, at_text, hex_text = act_words(act)
        at = whole_number(at_text, "byte", 0, len(data) - 1)
        try:
            new = bytes.fromhex(hex_text)
        except ValueError:
            new = b""
        if not new:
            raise ValueError(f"{hex_text!r} is not hex: give two digits for a byte")
        if at + len(new) > len(data):
            raise ValueError(f"byte {at}: {len(new)} bytes do not fit; give fewer")
        data = data[:at] + new + data[at + len(new) :]
    return data


def next_position(data: bytes) -> int:
    """Return where the next message begins, as the size field says.

    >>> next_position(bytes(8) + b"\\0\\0\\0\\x10")
    28
    """
    return SIZE_END + int.from_bytes(data[SIZE_END - 4 : SIZE_END], signed=True)


def words_of(outcome: Outcome, available_bytes: int) -> str:
    """Return what `decode` says."""
    if isinstance(outcome, Message):
        return f"a valid message, offset {outcome.offset}"
    if isinstance(outcome, NeedMoreBytes):
        needed = outcome.needed_bytes
        return f"unfinished: {count(needed, 'byte', 'are')} needed, {available_bytes} are there"
    return f"{outcome.fault.value}: {outcome.detail}"


def _say(dialect: Dialect, outcome: Outcome, now: bytes, changes: int) -> str:
    """Return what `decode` says, and which byte is wrong, as far as these bytes tell it."""
    said = f"decode: {words_of(outcome, len(now))}."
    if not changes:
        return f"{said} Choose a byte and change it."
    said = f"{count(changes, 'byte', 'are')} changed. {said}"
    found = wrong_byte_in(dialect, now)
    if found:
        what = "flipped bit" if found.is_one_bit else "wrong byte"
        is_now = now[found.at]
        change = f"byte {found.at}, {is_now:02x} was {is_now ^ found.mask:02x}"
        return f"{said} One {what} explains it: {change}."
    return said if isinstance(outcome, Message) else f"{said} The bytes do not tell which is wrong."


def _marked(outcome: Outcome, fields: Sequence[Field], now: bytes) -> list[Field]:
    """Return the fields; those that the engine does not believe are red."""
    wrong = set()
    is_size_right = next_position(now) == len(now)
    if not is_size_right:
        wrong.add("size")
    if isinstance(outcome, CorruptMessage) and outcome.fault is Fault.BAD_MAGIC:
        wrong.add("magic")
    if isinstance(outcome, CorruptMessage) and outcome.fault is Fault.BAD_LENGTH and is_size_right:
        wrong |= {"key length", "value length"}
    if isinstance(outcome, Message) and outcome.offset:
        wrong.add("offset")
    if checksum(now) != int.from_bytes(now[SIZE_END:CRC_END]):
        wrong.add("crc")
    return [one._replace(kind=_NOT_BELIEVED) if one.name in wrong else one for one in fields]


def _meanings(dialect: Dialect, data: bytes, now: bytes) -> Table:
    """Return each field with its value, and the one that it had before the changes."""
    old = {one.name: one.value for one in message_fields(_FILE, dialect, 0, data)}
    fields = message_fields(_FILE, dialect, 0, now)
    was = [old.get(one.name) for one in fields]
    marked = tuple(slot for slot, one in enumerate(fields) if one.value != was[slot])
    rows = tuple(
        (one.start, one.name, one.value, was[slot] if slot in marked else None)
        for slot, one in enumerate(fields)
    )
    return Table("What the bytes mean", ("byte", "field", "value", "was"), rows, marked)


def _in_logs(dialect: Dialect, message: KeyValue, now: bytes) -> Table:
    """Return what `verify` and `recover` say of a log that begins with these bytes."""
    places = {"two messages follow": AFTER, "it is the last one": ()}
    rows = tuple((place, *judged(dialect, message, now, rest)) for place, rest in places.items())
    return Table("In a log", ("the message", "verify", "recover"), rows)


def judged(
    dialect: Dialect, message: KeyValue, now: bytes, after: Sequence[KeyValue]
) -> tuple[str, str]:
    """Return what `verify` finds, and what `recover` would do, if the first bytes are these."""
    with temporary_log(dialect, TopicSettings()) as log:
        log.append([message, *after])
        segment = log.segments()[0]
        whole = segment.log_path.read_bytes()
        segment.log_path.write_bytes(now + whole[len(now) :])
        reader = reader_of(log)
        found = check_partition(reader, PartitionJobs(log_start=0)).findings
        verdict = "; ".join(f"{one.kind.value}: {one.detail}" for one in found)
        return verdict or "nothing", plan_in_words(plan_recovery(reader))


def plan_in_words(plan: RecoveryPlan) -> str:
    """Return what a recovery would do, in one line."""
    if plan.cut:
        return f"cuts at byte {_loss(plan.cut)}"
    if plan.damage:
        return f"refuses; with --force it cuts at byte {_loss(plan.damage)}"
    return "rebuilds the index" if plan.rebuilt_indexes else "nothing"


def _loss(found: ValidEnd) -> str:
    return f"{found.position}: {count(found.lost_bytes, 'byte')} with {found.lost} lost"


def _log_lane(dialect: Dialect, now: bytes) -> PictureLane:
    """Return a log that begins with these bytes, with a mark where the next message begins."""
    ends = list(accumulate((len(encode(dialect, 1, *one)) for one in AFTER), initial=len(now)))
    bars = [Bar(*both, str(offset)) for offset, both in enumerate(pairwise([0, *ends]))]
    at = next_position(now)
    note = f"the next message begins at byte {at}"
    if 0 <= at <= ends[-1]:
        bars.append(Bar(at, at, style="here"))
    else:
        note += ", outside of this log"
    return PictureLane("log", 0, ends[-1], tuple(bars), note)


BENCH = Bench(
    "record",
    "A message, byte by byte",
    (
        BenchField("key", "Key (empty: none)", "alice"),
        BenchField("value", "Value", "book"),
        BenchField("dialect", "Dialect", "documented", tuple(DIALECTS)),
    ),
    (BenchAct("set", "Set", (BenchField("at", "Byte"), BenchField("hex", "New, in hex"))),),
    document,
)
