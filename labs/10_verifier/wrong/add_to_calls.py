# exercise: 2
# reason: counts-calls
def add_to(self, slot, count, fingerprints):
    row = self._rows.setdefault(slot, [self.borders[slot], 0, 0])
    row[1] += 1
    row[2] = (row[2] + fingerprints) % 2**64
