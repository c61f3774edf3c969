# exercise: 1
# reason: gives-up-first
def take_bytes(self, size_bytes):
    freed = 0
    while self._free and freed < size_bytes:
        self._free.popitem()
        freed += self.poolable_size_bytes
    self._available_bytes += freed - size_bytes
