"""Messages as the Arrow columns they may come in, and the CRC libraries that tests take in turn."""

import importlib.util
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from kminilog.columns import crc
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.format.message import encode
from tests.support.properties.expected_layout import KeyValue

LIBRARIES: dict[str, Callable[..., int]] = {"zlib": zlib.crc32}
if importlib.util.find_spec("isal"):
    LIBRARIES["isal"] = importlib.import_module("isal.isal_zlib").crc32

each_library = pytest.mark.parametrize("library", LIBRARIES)
both_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())
_TEXTS = st.text(max_size=12).map(str.encode)  # non-ASCII too
_SOME = st.just(b"") | _TEXTS | st.binary(max_size=40)
_HUGE = st.integers(300, 70_000).map(lambda size: bytes(range(256)) * (size // 256 + 1))


@contextmanager
def crc_of(library: str) -> Iterator[None]:
    """Use one library's crc32, whichever is installed."""
    with patch.object(crc, "crc32", LIBRARIES[library]):
        yield


@st.composite
def messages(draw: st.DrawFn, dialect: Dialect, max_size: int = 60) -> list[KeyValue]:
    """Messages of mixed lengths, of equal ones, or of equal sums; null where there may be one."""
    kind = draw(st.sampled_from(["equal", "equal in sum", "mixed"]))
    if kind == "equal in sum":
        splits = draw(st.lists(st.integers(0, 9), max_size=max_size))
        return [(b"k" * split, b"v" * (9 - split)) for split in splits]
    if kind == "equal":
        key_length, value_length = draw(st.integers(0, 12)), draw(st.integers(0, 60))
        keys: st.SearchStrategy[Any] = st.binary(min_size=key_length, max_size=key_length)
        values: st.SearchStrategy[Any] = st.binary(min_size=value_length, max_size=value_length)
    else:
        keys = st.none() | _SOME
        values = _SOME | _HUGE | st.none() if dialect.has_value_length else _SOME | _HUGE
    return draw(st.lists(st.tuples(keys, values), max_size=max_size))


@st.composite
def column_of(draw: st.DrawFn, rows: list[bytes | None]) -> Any:
    """The same rows in any chunks, as slices of something larger, in any binary type."""
    kind = draw(st.sampled_from([pa.binary(), pa.large_binary(), pa.binary_view()]))
    borders = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    chunks = []
    for start, stop in zip([0, *borders], [*borders, len(rows)], strict=True):
        front, behind = draw(st.integers(0, 9)), draw(st.integers(0, 2))
        padded = [b"front", *[None] * front, *rows[start:stop], *[b"behind"] * behind]
        chunks.append(pa.array(padded, kind).slice(front + 1, stop - start))
    return chunks[0] if len(chunks) == 1 else pa.chunked_array(chunks, kind)


@st.composite
def columns_of(draw: st.DrawFn, rows: list[KeyValue]) -> tuple[Any, Any]:
    """Keys and values of the same messages, each in chunks of its own."""
    keys, values = [key for key, _ in rows], [value for _, value in rows]
    return draw(column_of(keys)), draw(column_of(values))


def log_of(dialect: Dialect, rows: list[KeyValue], first_offset: int = 0) -> bytes:
    """What the plain codec makes of messages."""
    numbered = enumerate(rows, first_offset)
    return b"".join(encode(dialect, offset, key, value) for offset, (key, value) in numbered)
