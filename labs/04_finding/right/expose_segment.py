# exercise: 9
# differs: names asked for in both dialects, 1 and a great one too; one between; names without end.
from kminilog.format.dialect import DOCUMENTED, KAFKA

_NAMES = [0, 100, 200]

EXPOSE_SEGMENT = [
    (DOCUMENTED, _NAMES, 0),
    (DOCUMENTED, [0, 1, 5], 1),
    (DOCUMENTED, [0, 2**62], 2**62),
    (KAFKA, _NAMES, 100),
    (KAFKA, _NAMES, 150),
    (KAFKA, range(10**9), 5 * 10**8),
]
