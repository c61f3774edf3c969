# exercise: 7
# differs: one list for each rule
EXPOSE_MAY_COMMIT = [
    ([("asks", 0, 1), ("asks", 0, 2), ("asks", 0, 0)],),
    ([("asks", 0, 0), ("asks", 0, 1), ("fails", 0, 1)],),
    ([("asks", 1, 0), ("asks", 0, 0), ("asks", 0, 1)],),
    ([("asks", 0, 0), ("asks", 0, 1), ("fails", 0, 0), ("asks", 0, 0)],),
    ([("fails", 0, 1), ("asks", 0, 0), ("fails", 1, 2), ("asks", 0, 1)],),
    ([("fails", 1, 0), ("asks", 0, 0)],),
]
