"""Read a small JSON file that somebody may have edited: return a valid value or raise one error.

    {"topic": "orders", "topic": "x"}    refused: a name occurs twice
    {"partitions": NaN}, UTF-16, a BOM   refused: kminilog never writes this
    {"partitions": true}                 `number` refuses it: not a whole number

The caller's `parse` decides what the document must hold. It checks types and bounds with `typed`
and `number`, and names with the same functions as the command line. Source: RFC 8259.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from kminilog.errors import KMiniLogError, LogDirError
from kminilog.settings import INT64_MAX
from kminilog.storage.files import read_regular

SMALL_FILE_BYTES = 1 << 28  # far above what a manifest of the largest topic takes
_REASON_LENGTH = 200

Value = TypeVar("Value")


def read_json(
    path: Path,
    parse: Callable[[Any], Value],
    *,
    what: str,
    remedy: str = "mend it or move it away",
) -> Value:
    """Return what `parse` makes of the document in a file.

    Raises LogDirError if the file holds no JSON, or if `parse` raises KeyError, TypeError,
    ValueError, AttributeError or KMiniLogError. Raises OSError as `read_regular` does; so
    FileNotFoundError if there is no file. O(bytes), up to SMALL_FILE_BYTES.
    """
    return parse_json(path, read_regular(path, SMALL_FILE_BYTES), parse, what=what, remedy=remedy)


def parse_json(
    path: Path, data: bytes, parse: Callable[[Any], Value], *, what: str, remedy: str
) -> Value:
    """Return what `parse` makes of a document that stands in a file; raises as `read_json`."""
    try:
        document = json.loads(
            data.decode(), object_pairs_hook=_object, parse_constant=_refuse_constant
        )
        return parse(document)
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        RecursionError,
        KMiniLogError,
    ) as error:
        reason = f"{path.name} holds no {what} ({_in_words(error)}); {remedy}"
        raise LogDirError(str(path.parent), reason=reason) from None


def typed(value: Any, kind: type[Value]) -> Value:
    """Return a value from a file if it has exactly this type, else raise ValueError.

    >>> typed(True, int)
    Traceback (most recent call last):
    ...
    ValueError: True is no int
    """
    if type(value) is not kind:
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value


def number(value: Any, lowest: int = 0, highest: int = INT64_MAX) -> int:
    """Return a value from a file if it is an int within bounds, else raise ValueError.

    >>> number(-1)
    Traceback (most recent call last):
    ...
    ValueError: -1 is outside of 0 to 9223372036854775807
    """
    if not lowest <= typed(value, int) <= highest:
        raise ValueError(f"{value} is outside of {lowest} to {highest}")
    return int(value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands in it twice")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _in_words(error: Exception) -> str:
    text = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    text = text or type(error).__name__
    return text if len(text) <= _REASON_LENGTH else text[:_REASON_LENGTH] + "…"
