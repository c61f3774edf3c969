# exercise: 2
# reason: closed-pool-refuses
def deallocate(self, buffer, size_bytes=None):
    if self._is_closed:
        return
    size = len(buffer) if size_bytes is None else size_bytes
    same = size == len(buffer) == self.poolable_size_bytes
    self._give_back(size, buffer if same else None)
