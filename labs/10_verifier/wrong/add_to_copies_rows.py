# exercise: 2
# reason: walks-all-ranges
def add_to(self, slot, count, fingerprints):
    first, before, total = self._rows.get(slot, (self.borders[slot], 0, 0))
    row = [first, before + count, (total + fingerprints) % 2**64]
    self._rows = {**self._rows, slot: row}
