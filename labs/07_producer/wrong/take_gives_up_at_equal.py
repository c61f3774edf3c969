# exercise: 1
# reason: gives-up-early
def take_bytes(self, size_bytes):
    while self._available_bytes <= size_bytes:
        self._free.popitem()
        self._available_bytes += self.poolable_size_bytes
    self._available_bytes -= size_bytes
