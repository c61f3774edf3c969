# exercise: 2
# reason: counts-length-now
def deallocate(self, buffer, size_bytes=None):
    is_poolable = len(buffer) == self.poolable_size_bytes
    self._give_back(len(buffer), buffer if is_poolable else None)
