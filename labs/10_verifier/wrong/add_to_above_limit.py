# exercise: 2
# reason: sum-other-limit
def add_to(self, slot, count, fingerprints):
    row = self._rows.setdefault(slot, [self.borders[slot], 0, 0])
    row[1] += count
    row[2] += fingerprints
    if row[2] > 2**64:
        row[2] -= 2**64
