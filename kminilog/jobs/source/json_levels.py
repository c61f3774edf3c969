"""How many levels the objects and lists of a JSON line have, known before the line is parsed.

    {"k": "a", "x": [[1, 2], {}]}       3 levels
    1               2 3      3

How many levels a parser can read depends on the parser, and on how much of the stack is left. So a
line could be stored by one reader and rejected by another. Every reader can read MOST_LEVELS, and
none is asked to read more. Source: ours; RFC 8259 allows such a limit.
"""

import re

import numpy as np

MOST_LEVELS = 512
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_too_deep(line: bytes) -> bool:
    """Tell if a JSON line has more than MOST_LEVELS levels.

    O(1) for lines up to that many bytes, O(bytes) for longer ones.

    >>> is_too_deep(b"[" * 512 + b"]" * 512), is_too_deep(b"[" * 513 + b"]" * 513)
    (False, True)
    >>> is_too_deep(b'["' + b"[" * 1000 + b'"]'), is_too_deep(b"[" + b"[]," * 1000)
    (False, False)
    """
    if len(line) <= MOST_LEVELS or line.count(b"[") + line.count(b"{") <= MOST_LEVELS:
        return False
    brackets = np.frombuffer(_STRING.sub(b"", line).translate(None, _NO_BRACKETS), np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1)
    return bool(steps.cumsum().max(initial=0) > MOST_LEVELS)
