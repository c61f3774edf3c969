# exercise: 9
# differs: no name, an empty one, one with other letters, and a body
EXPOSE_FRAME = [
    (1, 258, None, b"body"),
    (1, 258, "", b"body"),
    (0, 1, "Zo\u00eb", b""),
]
