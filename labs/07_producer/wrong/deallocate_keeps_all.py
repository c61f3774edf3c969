# exercise: 2
# reason: pools-any-size
def deallocate(self, buffer, size_bytes=None):
    size_bytes = len(buffer) if size_bytes is None else size_bytes
    self._give_back(size_bytes, buffer)
