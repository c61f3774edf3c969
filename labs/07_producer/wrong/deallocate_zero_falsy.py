# exercise: 2
# reason: zero-is-falsy
def deallocate(self, buffer, size_bytes=None):
    size_bytes = size_bytes or len(buffer)
    is_poolable = size_bytes == len(buffer) == self.poolable_size_bytes
    self._give_back(size_bytes, buffer if is_poolable else None)
