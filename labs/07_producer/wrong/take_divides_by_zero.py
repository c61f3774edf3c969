# exercise: 1
# reason: divides-by-zero
def take_bytes(self, size_bytes):
    missing = max(0, size_bytes - self._available_bytes)
    count = -(-missing // self.poolable_size_bytes)
    for _ in range(count):
        self._free.popitem()
    self._available_bytes += count * self.poolable_size_bytes - size_bytes
