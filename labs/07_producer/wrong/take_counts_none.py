# exercise: 1
# reason: freed-not-counted
def take_bytes(self, size_bytes):
    missing = size_bytes - self._available_bytes
    while missing > 0:
        self._free.popitem()
        missing -= self.poolable_size_bytes
    self._available_bytes -= size_bytes
