# exercise: 1
# differs: it goes into debt first, and pays with the lengths of buffers of the free list
def take_bytes(self, size_bytes):
    self._available_bytes -= size_bytes
    while self._available_bytes < 0:
        key = next(reversed(self._free))
        self._available_bytes += len(self._free.pop(key))
