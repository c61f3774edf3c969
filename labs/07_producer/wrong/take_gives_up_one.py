# exercise: 1
# reason: gives-up-one
def take_bytes(self, size_bytes):
    if self._available_bytes < size_bytes:
        self._free.popitem()
        self._available_bytes += self.poolable_size_bytes
    self._available_bytes -= size_bytes
