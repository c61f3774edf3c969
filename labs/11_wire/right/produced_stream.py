# exercise: 3
# differs: a stream, and a function that reads a number
from io import BytesIO


def produced(answer):
    stream = BytesIO(answer)

    def number(length):
        return int.from_bytes(stream.read(length), "big", signed=True)

    number(4)
    found = []
    for _ in range(number(4)):
        topic = stream.read(number(2)).decode("utf-8")
        found += [(topic, number(4), number(2), number(8)) for _ in range(number(4))]
    return found
