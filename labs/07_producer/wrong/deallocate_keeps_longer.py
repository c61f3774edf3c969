# exercise: 2
# reason: pools-grown
def deallocate(self, buffer, size_bytes=None):
    size = len(buffer) if size_bytes is None else size_bytes
    keep = size == self.poolable_size_bytes and len(buffer) >= size
    self._give_back(size, buffer if keep else None)
