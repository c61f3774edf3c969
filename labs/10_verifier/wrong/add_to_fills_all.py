# exercise: 2
# reason: walks-all-ranges
def add_to(self, slot, count, fingerprints):
    for number, border in enumerate(self.borders[:-1]):
        self._rows.setdefault(number, [border, 0, 0])
    self._rows[slot][1] += count
    self._rows[slot][2] = (self._rows[slot][2] + fingerprints) % 2**64
