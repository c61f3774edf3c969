"""Lab 5, crash and recovery: your answers. README.md says what to do."""

from collections.abc import Callable, Collection, Iterable, Iterator

from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import Outcome
from kminilog.storage.partition.recovery import Decision


# 5.1  What is a fault?
def fault(outcome: Outcome, next_offset: int) -> str | None:
    """Return why an outcome of decoding is not the message that belongs at `next_offset`.

    None if it is this message, or a compressed one that may hold it.

    >>> plain = Message(7, 0, 0, 0, 0, None, b"")
    >>> fault(plain, 7), fault(NeedMoreBytes(28), 7)
    (None, 'unfinished message')
    >>> fault(plain, 6)
    'a whole message with offset 7, expected 6'
    """
    raise NotImplementedError


# 5.2  Keep, cut or refuse
def decide(fault: str | None, is_whole_message_after: Callable[[], bool]) -> Decision:
    """Return what to do where the valid part of a log ends; `fault` is None at the file's end.

    A whole message after the fault may have been acknowledged, so a human must decide.

    >>> decide(None, lambda: False).value, decide("unfinished message", lambda: False).value
    ('keep', 'cut')
    >>> decide("bad-crc", lambda: True).value
    'refuse'
    """
    raise NotImplementedError


# 5.3  Rebuild an index, byte for byte
def due_entries(
    messages: Iterable[tuple[int, int]],
    base_offset: int,
    interval_bytes: int,
    last_indexed_position: int = 0,
) -> Iterator[IndexEntry]:
    """Yield the entries that messages get by the rule `is_due`: this rebuilds an index.

    `messages` are pairs of offset and position, ascending; `base_offset` is the segment's.

    >>> [tuple(entry) for entry in due_entries([(7, 0), (8, 40), (9, 80)], 7, 50)]
    [(2, 80)]
    """
    raise NotImplementedError


# 5.4  Is this index valid?
def decode_entries(data: bytes) -> list[IndexEntry]:
    """Return all entries of a whole index file; an empty file has none. O(entries).

    Raises CorruptBytesError if I1, I2 or I3 does not hold.

    >>> decode_entries(bytes.fromhex("00000003 000001f1"))
    [IndexEntry(relative_offset=3, position=497)]
    >>> decode_entries(bytes(9))
    Traceback (most recent call last):
    ...
    kminilog.errors.CorruptBytesError: torn index entry at byte 8
    """
    raise NotImplementedError


# 5.5  What a crash leaves over
def leftovers_and_strays(
    names: Collection[str], *, is_after_crash: bool
) -> tuple[list[str], list[str]]:
    """Return which files of a partition a crash has left over, and which nobody knows, sorted.

    Recovery removes the leftovers: an index without its log and, after a crash, `.deleted` files.
    It leaves strays alone.

    >>> name = "00000000000000000007"
    >>> names = [f"{name}.index", f"{name}.log.deleted", f"{name}.log.9.cut", "notes.txt"]
    >>> leftovers_and_strays(names, is_after_crash=True)
    (['00000000000000000007.index', '00000000000000000007.log.deleted'], ['notes.txt'])
    >>> leftovers_and_strays([*names, f"{name}.log"], is_after_crash=False)
    ([], ['notes.txt'])
    """
    raise NotImplementedError


# 5.6  Read a torn tail
SOUND_BYTES = ...
NEXT_OFFSET = ...
TAIL_BYTES = ...
NEEDED_BYTES = ...


# 5.9  A torn tail, or damage?
DIAGNOSIS = ...


# 5.10  Inputs that expose a wrong fault
EXPOSE_FAULT = ...
