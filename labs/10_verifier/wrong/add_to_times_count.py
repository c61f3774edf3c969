# exercise: 2
# reason: sum-times-count
def add_to(self, slot, count, fingerprints):
    row = self._rows.setdefault(slot, [self.borders[slot], 0, 0])
    row[1] += count
    row[2] = (row[2] + count * fingerprints) % 2**64
