# exercise: 10
# differs: itertools and a sum; sign by multiplication
from itertools import takewhile


def varint(data, position=0):
    begun = list(takewhile(lambda byte: byte >= 0x80, data[position : position + 10]))
    end = position + len(begun) + 1
    parts = [*(byte - 0x80 for byte in begun), data[end - 1]]
    number = sum(part * 128**place for place, part in enumerate(parts))
    return (number + number % 2) // 2 * (1 - 2 * (number % 2)), end
