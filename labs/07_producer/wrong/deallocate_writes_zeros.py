# exercise: 2
# reason: buffer-changed
def deallocate(self, buffer, size_bytes=None):
    size = len(buffer) if size_bytes is None else size_bytes
    same = size == len(buffer) == self.poolable_size_bytes
    if same:
        buffer[:] = bytes(size)
    self._give_back(size, buffer if same else None)
