"""How a file is compressed, and its content, up to its end or up to an error.

The first bytes of a file decide, not its name. But the name must not contradict them:

    first bytes          name             the file
    gzip, bzip2,
    zstd, LZ4 frame      that, or none    is read, all of its members or frames, to the end
    another format       whatever         is refused: xz, zip, tar, Parquet, or only "no text"
    anything else        no compression   is read as it is
    anything else        a compression    is refused, because nobody knows which of the two is right

Each magic number has bytes that no text begins with. The content of a compressed file is checked
too, because a tar archive in a .gz is not text. Memory is bounded by the window of the compression,
whatever the size of the file. A frame that is to be skipped may stand in front of zstd and of LZ4:
what follows it decides. Zero bytes after gzip are padding. This module does not know what the
bytes mean. Source: ours; RFC 1952 (gzip), RFC 8878 (zstd), the file formats of bzip2, LZ4, xz and
Snappy; Arrow's streams decompress, and Python's gzip.
"""

import io
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from gzip import GzipFile
from typing import IO, Any

import pyarrow as pa

from kminilog.errors import SourceError
from kminilog.jobs.source.source_files import BY_DATAFRAME

_HEAD_BYTES = 512
_READABLE = {"gzip": "gzip", "bzip2": "bz2", "zstd": "zstd", "LZ4": "lz4"}  # Arrow's names of them
_NO_TEXT = "no text"
_MAGIC = {
    "gzip": rb"\x1f\x8b\x08[\x00-\x1f]",  # the three highest flags are reserved
    "bzip2": rb"BZh[1-9](1AY&SY|\x17rE8P\x90)",  # with blocks, or without any
    "zstd": rb"\x28\xb5\x2f\xfd",
    "LZ4": rb"\x04\x22\x4d\x18",
    "xz": rb"\xfd7zXZ\x00",
    "Snappy": rb"\xff\x06\x00\x00sNaPpY",
    "zip": rb"PK(\x03\x04|\x05\x06\x00)",
    "tar": rb".{257}ustar(\x0000|  \x00)",
    "Parquet": rb"PAR1\x15",
    "Avro": rb"Obj\x01",
    # 7z, RAR, compress, lzip, LZO, old zstd and LZ4, SequenceFile, Arrow, SQLite, HDF5, PDF
    _NO_TEXT: rb"7z\xbc\xaf|Rar!\x1a|\x1f\x9d[\x89-\x90\x09-\x10]|LZIP[\x00\x01]|\x89LZO\x00"
    rb"|[\x1e\x22-\x27]\xb5\x2f\xfd|\x02\x21\x4c\x18|SEQ[\x04-\x06]|ARROW1\x00\x00"
    rb"|SQLite format 3\x00|\x89HDF\r\n|%PDF-\d",
}
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18(.{4})", re.DOTALL)  # and its size
_HAVE_SKIPPABLE = ("zstd", "LZ4")
# What is not supported, by a part of the text of the error.
_NEEDS = {
    "too much memory": "a window of more than 128 MiB; unpack it with `zstd -d --long=31`",
    "Dictionary mismatch": "a dictionary; unpack it with `zstd -d -D DICTIONARY`",
    "nsupported": "an unsupported feature; unpack it",
    "not supported": "an unsupported feature; unpack it",
}
_ORC = b"ORC"  # at the beginning, as in a text, but also before the last byte, a small number
_ORC_END = re.compile(rb"ORC[^\n\r\x20-\x7e]")
_SUFFIXES = {
    ".gz": "gzip",
    ".tgz": "gzip",
    ".bz2": "bzip2",
    ".zst": "zstd",
    ".lz4": "LZ4",
    ".xz": "xz",
    ".br": "Brotli",  # it and zlib have no magic number
    ".deflate": "zlib",  # as Hadoop calls it
    ".snappy": "Snappy",
    ".zip": "zip",
    ".tar": "tar",
    ".parquet": "Parquet",
    ".avro": "Avro",
    ".orc": "ORC",
}
_FORMATS = tuple((name, re.compile(magic, re.DOTALL)) for name, magic in _MAGIC.items())


def compression_of(path: str) -> str | None:
    """Return the compression of a file: gzip, bzip2, zstd or LZ4; None if it has none.

    Reads only its first bytes. Raises SourceError for a file that cannot be opened, that is in
    another format, or whose suffix names another format than its bytes do. Case does not matter in
    suffixes.
    """
    suffix = next((suffix for suffix in _SUFFIXES if path.lower().endswith(suffix)), "")
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
            found = _format_of(head) or _after_skippable(file, head, _SUFFIXES.get(suffix))
            if head.startswith(_ORC) and len(head) > 2 * len(_ORC):
                file.seek(-len(_ORC) - 1, os.SEEK_END)
                found = "ORC" if _ORC_END.fullmatch(file.read()) else found
    except OSError as error:
        raise SourceError(path, reason=error.strerror or str(error)) from None
    named = _SUFFIXES.get(suffix, found)
    if named != found:
        name = f"its name ends with {suffix} ({named})"
        if found is None and named not in _MAGIC:
            raise SourceError(path, reason=_refusal(name, named))
        is_ = f"it is {found}" if found else "its first bytes are not" if head else "it is empty"
        raise SourceError(path, reason=f"{name}, but {is_}; rename it, or write it anew")
    if found and found not in _READABLE:
        raise SourceError(path, reason=_refusal(f"it is {found}", found))
    return found


def check_content(path: str) -> None:
    """Raise SourceError if a file cannot be text, because of its own format or of its content's.

    Decompresses only its first bytes.
    """
    compression = compression_of(path)
    if compression:
        with open_decompressed(path) as file:
            found = _format_of(file.read(_HEAD_BYTES))
        if found:
            raise SourceError(
                path, reason=_refusal(f"in its {compression} there is {found}", found)
            )


@contextmanager
def open_decompressed(path: str) -> Iterator[IO[bytes]]:
    """Yield an open file that reads the decompressed content.

    Only a file that is not compressed can `seek`. Raises SourceError for what `compression_of`
    refuses, and for a file that cannot be read. A read raises SourceError too: it tells data that
    are cut off, that are damaged and that need what is not supported, and how many bytes of the
    content came before that.
    """
    compression = compression_of(path)
    try:
        with open(path, "rb") as raw:
            yield io.BufferedReader(_Decompressed(raw, path, compression)) if compression else raw
    except OSError as error:
        raise SourceError(path, reason=error.strerror or str(error)) from None


class _Decompressed(io.RawIOBase):
    """The content of a compressed file, which the caller keeps open."""

    def __init__(self, raw: IO[bytes], path: str, compression: str) -> None:
        if compression == "gzip":
            # Not more than is there at once: what comes before a fault is read then.
            self._read_into: Any = GzipFile(fileobj=raw).readinto1
        else:
            self._read_into = pa.CompressedInputStream(raw, _READABLE[compression]).readinto
        self._path = path
        self._compression = compression
        self._position = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            count = int(self._read_into(buffer))
        except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
            if isinstance(error, OSError) and error.strerror:
                raise  # the file itself cannot be read
            raise SourceError(self._path, reason=self._fault(error)) from None
        self._position += count
        return count

    def _fault(self, error: Exception) -> str:
        text, what = str(error).strip(), f"its {self._compression} data"
        place = f"{self._position} decompressed bytes"
        if isinstance(error, EOFError) or "Truncated" in text:
            return f"{what} are cut off after {place}"
        if needed := next((need for part, need in _NEEDS.items() if part in text), None):
            return f"{what} need {needed}"
        return f"{what} are damaged after {place}: {text}"


def _format_of(head: bytes) -> str | None:
    return next((name for name, magic in _FORMATS if magic.match(head)), None)


def _after_skippable(file: IO[bytes], head: bytes, named: str | None) -> str | None:
    """Return the format of what follows frames to be skipped; None if there are none, or no format.

    If nothing follows them, the name decides, and between zstd and LZ4 makes no difference.
    """
    position = 0
    while skipped := _SKIPPABLE.match(head):
        position += skipped.end() + int.from_bytes(skipped[1], "little")
        file.seek(position)
        head = file.read(_HEAD_BYTES)
    if position and not head:
        is_whole = file.seek(0, io.SEEK_END) == position
        return named if named in _HAVE_SKIPPABLE else "zstd" if is_whole else None
    found = _format_of(head) if position else None
    return found if found in _HAVE_SKIPPABLE else None


def _refusal(what: str, found: str | None) -> str:
    if found == "Parquet":
        return f"{what}, not text: give --format parquet, and the file uncompressed"
    if found in ("Avro", "ORC"):
        return f"{what}; {BY_DATAFRAME}"
    if found == _NO_TEXT:
        return f"{what}: unpack it, or write its records as text, CSV, JSON lines or Parquet"
    return f"{what}, which is not read; unpack it, or compress it with {', '.join(_READABLE)}"
