# exercise: 2
# differs: a range that is new is made, and the method calls itself
def add_to(self, slot, count, fingerprints):
    if slot not in self._rows:
        self._rows[slot] = [self.borders[slot], 0, 0]
        self.add_to(slot, count, fingerprints)
    else:
        first, before, total = self._rows[slot]
        self._rows[slot] = [first, before + count, (total + fingerprints) % 2**64]
