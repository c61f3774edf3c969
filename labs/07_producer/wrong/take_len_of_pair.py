# exercise: 1
# reason: pair-is-not-buffer
def take_bytes(self, size_bytes):
    while self._available_bytes < size_bytes:
        self._available_bytes += len(self._free.popitem())
    self._available_bytes -= size_bytes
