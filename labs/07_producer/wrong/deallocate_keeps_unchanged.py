# exercise: 2
# reason: pools-any-size
def deallocate(self, buffer, size_bytes=None):
    size = len(buffer) if size_bytes is None else size_bytes
    self._give_back(size, buffer if len(buffer) == size else None)
