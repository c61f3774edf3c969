"""The messages inside a compressed message, decompressed one after the other.

    gzip(m0 m1 m2 ... )   -->   m0, m1, m2, ...      up to a limit of unpacked bytes

A megabyte of gzip may hold a gigabyte. So nothing is decompressed before it is needed, and memory
holds one inner message. Beyond the limit the rest is left out, and a line says so. Only gzip can be
opened: all its members, and zero bytes after them are padding. Source: ours; RFC 1952.
"""

import io
import zlib
from collections.abc import Callable, Iterator
from gzip import GzipFile
from pathlib import Path

from kminilog.errors import CompressedMessageError
from kminilog.format.message import SIZE_END, Message
from kminilog.text import count

MAX_UNPACKED_BYTES = 64 << 20


class Unpacking:
    """The limit for each compressed message; `cut_count` messages have exceeded it."""

    def __init__(self, limit_bytes: int, tell: Callable[[str], None]) -> None:
        self._limit_bytes = limit_bytes
        self._tell = tell
        self.cut_count = 0

    def inside(self, message: Message, path: Path, position: int) -> Iterator[bytes]:
        """Yield the bytes of each message inside, as long as its size field says; the last may be
        shorter. One that goes beyond the limit is left out, with all after it, and told.

        Raises CompressedMessageError for another codec than gzip, ValueError where its bytes are
        invalid: messages in front of that have been yielded.
        """
        if message.codec != "gzip":
            remedy = "only gzip can be opened; without --deep it is shown as it is stored"
            where = f"{path}, byte {position}"
            raise CompressedMessageError(message.codec, where=where, remedy=remedy)
        gzip, has_any = _Gzip(message.value or b"", self._limit_bytes), False
        while data := gzip.read(SIZE_END):
            size = int.from_bytes(data[8:])
            data += gzip.read(size)
            if gzip.is_cut and len(data) < SIZE_END + size:
                break
            yield data
            has_any = True
        if not has_any and not gzip.is_cut:
            raise ValueError("the gzip data hold no message")
        if gzip.is_cut:
            self.cut_count += 1
            self._tell(
                f"{path}, offset {message.offset}, byte {position}: the message holds more "
                f"than {count(self._limit_bytes, 'byte')}; the rest is not shown; "
                "raise --max-unpacked"
            )


class _Gzip:
    """Bytes that are unpacked as they are read, up to a limit; `is_cut` once there are more."""

    def __init__(self, packed: bytes, limit_bytes: int) -> None:
        self._gzip = GzipFile(fileobj=io.BytesIO(packed))
        self._left_bytes = limit_bytes
        self.is_cut = False

    def read(self, size: int) -> bytes:
        """Return so many bytes; fewer only at the end, or at the limit. Raises ValueError."""
        if self.is_cut:
            return b""
        try:
            # One byte more than may be: so the end is told from the limit.
            data = self._gzip.read(min(size, self._left_bytes + 1))
        except EOFError:
            raise ValueError("the gzip data cannot be opened: they are cut off") from None
        except (OSError, zlib.error) as error:
            raise ValueError(f"the gzip data cannot be opened: they are damaged: {error}") from None
        self.is_cut = len(data) > self._left_bytes
        data = data[: self._left_bytes]
        self._left_bytes -= len(data)
        return data
