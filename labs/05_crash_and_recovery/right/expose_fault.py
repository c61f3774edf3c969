# exercise: 10
# differs: both faults, a gap at 0, a snappy message without value in two places, and a packed one far away.
from kminilog.format.dialect import KAFKA
from kminilog.format.message import decode, encode

_PLAIN = encode(KAFKA, 7, None, b"plain")
_SNAPPY = encode(KAFKA, 7, None, None, attributes=2)
_FAR = encode(KAFKA, 2**40, None, b"packed", attributes=1)

EXPOSE_FAULT = [
    (decode(KAFKA, _PLAIN[:-1]), 7),
    (decode(KAFKA, _PLAIN[:-1] + b"!"), 7),
    (decode(KAFKA, _FAR), 7),
    (decode(KAFKA, _PLAIN), 0),
    (decode(KAFKA, _SNAPPY), 4),
    (decode(KAFKA, _SNAPPY), 8),
]
