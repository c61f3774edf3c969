# exercise: 2
# reason: pools-by-length
def deallocate(self, buffer, size_bytes=None):
    if size_bytes is None:
        size_bytes = len(buffer)
    is_poolable = len(buffer) == self.poolable_size_bytes
    self._give_back(size_bytes, buffer if is_poolable else None)
