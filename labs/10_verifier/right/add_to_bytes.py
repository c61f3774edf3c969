# exercise: 2
# differs: the lowest eight bytes of the sum
def add_to(self, slot, count, fingerprints):
    if slot not in self._rows:
        self._rows[slot] = [self.borders[slot], 0, 0]
    row = self._rows[slot]
    total = int(row[2]) + int(fingerprints)
    row[1:] = [row[1] + count, int.from_bytes(total.to_bytes(32, "little")[:8], "little")]
