# exercise: 1
# reason: walks-free-list
def take_bytes(self, size_bytes):
    keys = list(self._free)
    while self._available_bytes < size_bytes:
        del self._free[keys.pop()]
        self._available_bytes += self.poolable_size_bytes
    self._available_bytes -= size_bytes
