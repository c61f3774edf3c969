# exercise: 9
# differs: the least, the greatest and the late numbers that an entry takes, and their neighbours.
_MOST = 2**31 - 1

EXPOSE_ENTRY = [
    (2**60 + _MOST, 497, 2**60),
    (10, 0, 10),
    (10, _MOST, 9),
    (9, 0, 10),
    (_MOST + 1, 0, 0),
    (1, _MOST + 1, 0),
]
