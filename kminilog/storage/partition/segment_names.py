"""Which segments are among these names of files? The fast form of `names.parse_segment_file`.

A partition may have thousands of segments, and a reader lists them again and again. So one regular
expression searches all names at once, joined by slashes, which no name of a file has. Source: ours.
"""

import re
from collections.abc import Collection, Iterable

from kminilog.format.names import MAX_OFFSET

_LOG_NAMES = re.compile(r"/([0-9]{20})\.log(?=/)")
_BOTH_FILES = re.compile(r"(?<![^/])(0[0-8][0-9]{18})\.index/\1\.log/")  # below MAX_OFFSET


def segments_among(names: Iterable[str]) -> list[int]:
    """Return the base offsets of the segments whose `.log` is among these names of files.

    >>> segments_among(["00000000000000000007.log", "00000000000000000007.index", "notes.txt"])
    [7]
    """
    between_slashes = "/".join(("", *names, ""))
    numbers = map(int, _LOG_NAMES.findall(between_slashes))
    return [number for number in numbers if number <= MAX_OFFSET]


def whole_segments(names: Collection[str]) -> tuple[list[int], list[str]]:
    """Return the base offsets of the segments with both files, and the names of all other files.

    Both ascend. A segment with a very great base offset may be among the other files.

    >>> whole_segments(["00000000000000000007.log", "00000000000000000007.index", "notes.txt"])
    ([7], ['notes.txt'])
    """
    others_and_bases = _BOTH_FILES.split("/".join([*sorted(names), ""]))
    others = "".join(others_and_bases[::2]).split("/")
    return [*map(int, others_and_bases[1::2])], others[:-1]
