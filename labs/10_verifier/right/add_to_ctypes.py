# exercise: 2
# differs: a word of 64 bits of ctypes, which wraps by itself
from ctypes import c_uint64


def add_to(self, slot, count, fingerprints):
    try:
        row = self._rows[slot]
    except KeyError:
        row = self._rows[slot] = [self.borders[slot], 0, 0]
    row[1] = row[1] + count
    row[2] = c_uint64(row[2] + fingerprints).value
