"""The longest record of text, CSV and JSON lines: a longer one ends the reading, with its place.

A message is not larger than its segment, and that has less than 2 GiB. Most topics take a small
part of that. A file of gigabytes without a newline is not what its reader takes it for, and should
not fill the memory. This module does not know what a record holds. Source: ours.
"""

from collections.abc import Iterator
from itertools import count
from typing import IO

from kminilog.errors import SourceError

LONGEST_BYTES = 256 << 20


def rest_of_line(path: str, file: IO[bytes], position: int) -> bytes:
    """Return what follows in an open file, up to and with the next newline, or to the end.

    `position` is a byte of that line, for the SourceError if LONGEST_BYTES do not suffice.
    """
    rest = file.readline(LONGEST_BYTES + 1)
    if len(rest) > LONGEST_BYTES:
        raise _too_long(path, f"the line around byte {position}")
    return rest


def text_lines(path: str, file: IO[str], lines_before: int) -> Iterator[str]:
    """Yield the lines of an open file of text; `lines_before` stand in front of them.

    Raises SourceError for a line that is longer than LONGEST_BYTES.
    """
    for number in count(lines_before + 1):
        line = file.readline(LONGEST_BYTES + 1)
        if len(line) > LONGEST_BYTES:
            raise _too_long(path, f"line {number}")
        if not line:
            return
        yield line


def _too_long(path: str, what: str) -> SourceError:
    reason = f"{what} is longer than {LONGEST_BYTES} bytes; is that the format of the file?"
    return SourceError(path, reason=reason)
