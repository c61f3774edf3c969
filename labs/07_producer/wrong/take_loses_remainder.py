# exercise: 1
# reason: remainder-lost
def take_bytes(self, size_bytes):
    missing = size_bytes - self._available_bytes
    if missing <= 0:
        self._available_bytes -= size_bytes
        return
    while missing > 0:
        self._free.popitem()
        missing -= self.poolable_size_bytes
    self._available_bytes = 0
