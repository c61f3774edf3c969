# exercise: 1
# reason: gives-up-first
def take_bytes(self, size_bytes):
    if size_bytes == self.poolable_size_bytes and self._free:
        self._free.popitem()
        return
    while self._available_bytes < size_bytes:
        self._free.popitem()
        self._available_bytes += self.poolable_size_bytes
    self._available_bytes -= size_bytes
