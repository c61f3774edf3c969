# exercise: 2
# reason: zero-is-falsy
def add_to(self, slot, count, fingerprints):
    if not fingerprints:
        return
    row = self._rows.setdefault(slot, [self.borders[slot], 0, 0])
    row[1] += count
    row[2] = (row[2] + fingerprints) % 2**64
