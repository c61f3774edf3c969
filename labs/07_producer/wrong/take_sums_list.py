# exercise: 1
# reason: walks-free-list
def take_bytes(self, size_bytes):
    pooled = sum(len(buffer) for buffer in self._free.values())
    if self._available_bytes + pooled < size_bytes:
        raise ValueError("too little")
    while self._available_bytes < size_bytes:
        self._free.popitem()
        self._available_bytes += self.poolable_size_bytes
    self._available_bytes -= size_bytes
