# exercise: 2
# reason: pools-any-size
def deallocate(self, buffer, size_bytes=None):
    self._give_back(size_bytes or len(buffer), buffer)
