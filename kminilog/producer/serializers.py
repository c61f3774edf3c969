"""From a key or a value to its bytes: what a serialiser is, and the built-in ones.

    bytes          bytes or bytearray, as they are
    string         text, in UTF-8
    text-or-bytes  either, for lines of input: they are text if their bytes are UTF-8
    integer        a whole number of 32 bits, with sign, in 4 bytes, big endian
    a.b.Class      a class of the user's: serialize(topic, data) -> bytes or None;
                   `configure(config)` and `close()` if it has them

None is null: a built-in serialiser leaves it as it is, a class of the user's gets it. Settings also
take the names of Kafka's classes (producer_settings); `manual_producer` loads a user's classes.
Source: S0 7, S1 3 (serializer.class); Kafka: StringSerializer, ByteArraySerializer,
IntegerSerializer; 0.8: StringEncoder, DefaultEncoder.
"""

from collections.abc import Callable
from typing import Any

from kminilog.errors import SerializationError

_INT32 = range(-(2**31), 2**31)


class Serializer:
    """Turns a key or a value of a topic into bytes. Call `close` after the last use.

    >>> to_bytes = built_in_serializer("string", "value.serializer")
    >>> to_bytes("orders", "två tekannor"), to_bytes("orders", None)
    (b'tv\\xc3\\xa5 tekannor', None)
    >>> to_bytes("orders", 5)
    Traceback (most recent call last):
    ...
    kminilog.errors.SerializationError: value: string serialiser: int is no text; \
the message was not written
    """

    def __init__(
        self,
        name: str,
        setting: str,
        encode: Callable[[str, Any], object],
        close: Callable[[], object] | None = None,
    ) -> None:
        self.name = name
        self._what = setting.partition(".")[0]
        self._encode = encode
        self._close = close

    def __call__(self, topic: str, data: Any) -> bytes | None:
        """Return the bytes of a key or a value; None for null. Raises SerializationError."""
        try:
            encoded = self._encode(topic, data)
        except Exception as error:  # a class of the user's can raise anything
            is_ours = isinstance(error, _NotTakenError)
            reason = str(error) if is_ours else f"{type(error).__name__}: {error}"
            raise SerializationError(self._what, serializer=self.name, reason=reason) from error
        if encoded is None or isinstance(encoded, bytes):
            return encoded
        if isinstance(encoded, bytearray):
            return bytes(encoded)
        reason = f"it returned {type(encoded).__name__}, not bytes"
        raise SerializationError(self._what, serializer=self.name, reason=reason)

    def close(self) -> None:
        """Close the user's class, if it has `close`; an exception of that passes through."""
        if self._close:
            self._close()


def built_in_serializer(name: str, setting: str) -> Serializer | None:
    """Return the built-in serialiser of a name; None if there is none of that name.

    `setting` is the setting that names it; errors mention it.

    >>> to_bytes = built_in_serializer("integer", "key.serializer")
    >>> to_bytes("orders", -2)
    b'\\xff\\xff\\xff\\xfe'
    """
    encode = _ENCODERS.get(name)
    return encode and Serializer(name, setting, encode)


class _NotTakenError(Exception):
    """The reason why a built-in serialiser refuses a key or a value."""


def _encode_bytes(_: str, data: object) -> bytes | None:
    if data is None or isinstance(data, bytes):
        return data
    if not isinstance(data, bytearray):
        raise _NotTakenError(f"{type(data).__name__} is not bytes")
    return bytes(data)


def _encode_string(_: str, data: object) -> bytes | None:
    if data is not None and not isinstance(data, str):
        raise _NotTakenError(f"{type(data).__name__} is no text")
    return None if data is None else data.encode()


def _encode_text_or_bytes(topic: str, data: object) -> bytes | None:
    return (_encode_string if isinstance(data, str) else _encode_bytes)(topic, data)


def _encode_integer(_: str, data: object) -> bytes | None:
    if data is None:
        return None
    if not isinstance(data, int) or isinstance(data, bool):
        raise _NotTakenError(f"{type(data).__name__} is no whole number")
    if data not in _INT32:
        raise _NotTakenError(f"{data} does not fit into 4 bytes")
    return data.to_bytes(4, "big", signed=True)


_ENCODERS: dict[str, Callable[[str, object], bytes | None]] = {
    "bytes": _encode_bytes,
    "string": _encode_string,
    "text-or-bytes": _encode_text_or_bytes,
    "integer": _encode_integer,
}
