"""CRC-32C, the checksum of a batch: the polynomial of Castagnoli, not that of zlib's CRC-32.

Two implementations give the same number: the C library of google-crc32c, if it is installed, and
the table of `format.later_formats`, which looks at byte after byte in Python.
Source: RFC 3720, appendix B.4; Kafka: Crc32C.
"""

from collections.abc import Callable

from kminilog.format.later_formats import crc32c as _by_table

try:
    from google_crc32c import value as _value
except ModuleNotFoundError:
    _value = _by_table

_crc32c: Callable[[bytes], int] = _value


def crc32c(data: bytes) -> int:
    """Return the CRC-32C, unsigned. O(bytes).

    >>> f"{crc32c(b'123456789'):08x}"
    'e3069283'
    """
    return _crc32c(data)
