# exercise: 10
# differs: both faults, a repeated offset at 0 and a gap, and a snappy message in two places.
from kminilog.format.dialect import KAFKA
from kminilog.format.message import decode, encode

_PLAIN = encode(KAFKA, 7, None, b"plain")
_SNAPPY = encode(KAFKA, 7, None, b"packed", attributes=2)

EXPOSE_FAULT = [
    (decode(KAFKA, _PLAIN[:-1]), 7),
    (decode(KAFKA, _PLAIN[:-1] + b"!"), 7),
    (decode(KAFKA, _PLAIN), 8),
    (decode(KAFKA, _PLAIN), 0),
    (decode(KAFKA, _SNAPPY), 4),
    (decode(KAFKA, _SNAPPY), 8),
]
