# exercise: 1
# differs: it computes how many buffers to give up, and gives up the oldest ones
def take_bytes(self, size_bytes):
    missing = size_bytes - self._available_bytes
    count = -(-missing // self.poolable_size_bytes) if missing > 0 else 0
    for _ in range(count):
        self._free.popitem(last=False)
    self._available_bytes += count * self.poolable_size_bytes - size_bytes
