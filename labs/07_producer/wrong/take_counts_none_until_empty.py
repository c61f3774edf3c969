# exercise: 1
# reason: freed-not-counted
def take_bytes(self, size_bytes):
    while self._available_bytes < size_bytes:
        self._free.popitem()
    self._available_bytes -= size_bytes
