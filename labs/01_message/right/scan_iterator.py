# exercise: 5
# differs: an iterator of its own class instead of a generator.
from kminilog.format.message import CorruptMessage, NeedMoreBytes


class Scan:
    def __init__(self, dialect, data, position):
        self.dialect, self.data, self.position = dialect, data, position

    def __iter__(self):
        return self

    def __next__(self):
        if self.position >= len(self.data):
            raise StopIteration
        position, outcome = self.position, decode(self.dialect, self.data, self.position)
        is_last = isinstance(outcome, NeedMoreBytes | CorruptMessage)
        self.position = len(self.data) if is_last else position + outcome.length_bytes
        return position, outcome


def scan(dialect, data, position=0):
    return Scan(dialect, data, position)
