# exercise: 1
# differs: it takes what is available, gives up a buffer, and calls itself for the rest
def take_bytes(self, size_bytes):
    part = min(size_bytes, self._available_bytes)
    self._available_bytes -= part
    if part < size_bytes:
        self._free.popitem()
        self._available_bytes += self.poolable_size_bytes
        self.take_bytes(size_bytes - part)
