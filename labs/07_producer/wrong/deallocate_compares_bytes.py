# exercise: 2
# reason: equal-is-not-same
def deallocate(self, buffer, size_bytes=None):
    size = len(buffer) if size_bytes is None else size_bytes
    same = size == len(buffer) == self.poolable_size_bytes and buffer not in self._free.values()
    self._give_back(size, buffer if same else None)
