# exercise: 1
# differs: it gives up one buffer, and begins again
def take_bytes(self, size_bytes):
    if self._available_bytes >= size_bytes:
        self._available_bytes -= size_bytes
        return
    self._free.popitem()
    self._available_bytes += self.poolable_size_bytes
    take_bytes(self, size_bytes)
