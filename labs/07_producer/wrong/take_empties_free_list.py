# exercise: 1
# reason: gives-up-all
def take_bytes(self, size_bytes):
    while self._free:
        self._free.popitem()
        self._available_bytes += self.poolable_size_bytes
    self._available_bytes -= size_bytes
