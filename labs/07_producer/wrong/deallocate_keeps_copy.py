# exercise: 2
# reason: pools-copy
def deallocate(self, buffer, size_bytes=None):
    size = len(buffer) if size_bytes is None else size_bytes
    same = size == len(buffer) == self.poolable_size_bytes
    self._give_back(size, bytearray(buffer) if same else None)
