# exercise: 9
# differs: a name that is asked for, in both dialects; an offset between two; names without end.
from kminilog.format.dialect import DOCUMENTED, KAFKA

_NAMES = [0, 100, 200]

EXPOSE_SEGMENT = [
    (DOCUMENTED, _NAMES, 0),
    (DOCUMENTED, _NAMES, 100),
    (KAFKA, _NAMES, 100),
    (KAFKA, _NAMES, 150),
    (KAFKA, range(10**9), 5 * 10**8),
]
