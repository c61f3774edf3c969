# exercise: 9
# differs: five messages, of which each looks as if it were made for several readings at once.
from struct import pack

_PLAIN = pack(">qiibbi", 7, 23, 99, 0, 0, 1) + b"kvalue"
_OTHER = pack(">qiibbi", 7, 23, 99, 2, 1, 1) + b"kvalue"
_NO_SIZE = _PLAIN[:8] + bytes(4) + _PLAIN[12:]
_LONG = _PLAIN + bytes(70_000)

EXPOSE_CHECKSUM = [(_PLAIN,), (_OTHER,), (_LONG,), (_PLAIN + b" \n",), (_NO_SIZE,)]
