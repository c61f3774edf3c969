# exercise: 2
# differs: modulo, and a new row as a whole
def add_to(self, slot, count, fingerprints):
    first, before, total = self._rows.get(slot, (self.borders[slot], 0, 0))
    self._rows[slot] = [first, before + count, (total + fingerprints) % 2**64]
