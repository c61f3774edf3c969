"""Lab 1, the message: your answers. README.md says what to do."""

from collections.abc import Iterator

from kminilog.format.dialect import Dialect
from kminilog.format.message import Outcome


# 1.1  The header: offset and size
def header(offset: int, content: bytes) -> bytes:
    """Return the 12 bytes in front of the crc: the offset, and the size of crc and content. O(1).

    >>> header(1, b"content").hex(" ", -8)
    '0000000000000001 0000000b'
    """
    raise NotImplementedError


# 1.2  The checksum
def checksum(message: bytes) -> int:
    """Return the CRC-32, unsigned, of what follows the crc field of a whole message. O(length).

    It does not depend on the offset, the size and the crc that the message has.

    >>> from kminilog.format.dialect import DOCUMENTED
    >>> f"{checksum(encode(DOCUMENTED, 1, b'key', b'value')):08x}"
    '4b41698d'
    """
    raise NotImplementedError


# 1.3  Null is not empty
def content(
    dialect: Dialect, key: bytes | None, value: bytes | None, *, attributes: int = 0
) -> bytes:
    """Return what the crc covers: magic, attributes, key length and key, and the value. O(length).

    In the kafka dialect the value's length stands in front of it. Raises NullValueError for a null
    value in the documented dialect.

    >>> from kminilog.format.dialect import KAFKA
    >>> content(KAFKA, b"key", None).hex(" ", 1)
    '00 00 00 00 00 03 6b 65 79 ff ff ff ff'
    """
    raise NotImplementedError


# 1.4  Decode hostile bytes
def decode(dialect: Dialect, data: bytes, position: int = 0) -> Outcome:
    """Return what begins at `position`: a message, too few bytes to tell, or damage.

    Does not check the offset: this function does not know which one is expected. O(size), for the
    checksum.

    >>> from kminilog.format.dialect import KAFKA
    >>> data = encode(KAFKA, 7, None, b"hi")
    >>> decode(KAFKA, data).value
    b'hi'
    >>> decode(KAFKA, data[:-1])
    NeedMoreBytes(needed_bytes=28)
    >>> decode(KAFKA, data[:-1] + b"!").fault
    <Fault.BAD_CRC: 'bad-crc'>
    """
    raise NotImplementedError


# 1.5  Scan to an unfinished end
def scan(dialect: Dialect, data: bytes, position: int = 0) -> Iterator[tuple[int, Outcome]]:
    """Yield position and outcome of each message; stop after the first that is no `Message`.

    >>> from kminilog.format.dialect import KAFKA
    >>> data = encode(KAFKA, 0, None, b"a") + encode(KAFKA, 1, None, b"b")
    >>> [(position, type(outcome).__name__) for position, outcome in scan(KAFKA, data[:-1])]
    [(0, 'Message'), (27, 'NeedMoreBytes')]
    """
    raise NotImplementedError


# 1.6  Read the bytes of a message
SECOND_OFFSET = ...
SECOND_CRC = ...
SECOND_KEY = ...
THIRD_POSITION = ...


# 1.8  What is wrong with this log?
DIAGNOSIS = ...


# 1.9  Inputs that expose a wrong checksum
EXPOSE_CHECKSUM = ...


# 1.10  A varint
def varint(data, position=0):
    """Return the signed number of the varint at `position`, and the position after its last byte.

    >>> varint(bytes.fromhex("c0 9a 0c"))
    (100000, 3)
    >>> varint(bytes.fromhex("ff 01 0d"), 2)
    (-7, 3)
    """
    raise NotImplementedError


# 1.11  The header of a batch
def batch_header(data, position=0):
    """Return of the batch at `position`: first offset, last offset, codec, record count, end.

    `end` is the position after the batch. The codec is a number, 0 to 7. The CRC is not checked.
    """
    raise NotImplementedError
