# exercise: 2
# differs: it makes a missing row, and then calls itself
def add_to(self, slot, count, fingerprints):
    if slot not in self._rows:
        self._rows[slot] = [self.borders[slot], 0, 0]
        return self.add_to(slot, count, fingerprints)
    row = self._rows[slot]
    row[1] += count
    row[2] = (row[2] + fingerprints) % 2**64
