# exercise: 2
# reason: pools-grown
def deallocate(self, buffer, size_bytes=None):
    size = size_bytes or len(buffer)
    self._give_back(size, buffer if size == self.poolable_size_bytes else None)
