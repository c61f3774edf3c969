# exercise: 1
# reason: offset-of-4-bytes
from struct import pack


def header(offset, content):
    return pack(">ii", offset, 4 + len(content))
