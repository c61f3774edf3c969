# exercise: 2
# reason: pools-grown
def deallocate(self, buffer, size_bytes=None):
    size_bytes = len(buffer) if size_bytes is None else size_bytes
    is_poolable = size_bytes == self.poolable_size_bytes
    self._give_back(size_bytes, buffer if is_poolable else None)
