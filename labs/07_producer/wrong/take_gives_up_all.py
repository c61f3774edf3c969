# exercise: 1
# reason: gives-up-all
def take_bytes(self, size_bytes):
    if self._available_bytes < size_bytes:
        self._available_bytes += self.pooled_bytes
        self._free.clear()
    self._available_bytes -= size_bytes
