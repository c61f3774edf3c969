# exercise: 2
# reason: walks-all-ranges
def add_to(self, slot, count, fingerprints):
    row = self._rows.setdefault(slot, [self.borders[slot], 0, 0])
    row[1] += count
    row[2] = (row[2] + fingerprints) % 2**64
    ordered = sorted(self._rows.items())
    self._rows.clear()
    self._rows.update(ordered)
