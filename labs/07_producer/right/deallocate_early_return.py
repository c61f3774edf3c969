# exercise: 2
# differs: the poolable case returns early, and the rest follows
def deallocate(self, buffer, size_bytes=None):
    allocated = size_bytes
    if allocated is None:
        allocated = len(buffer)
    if len(buffer) == allocated and allocated == self.poolable_size_bytes:
        return self._give_back(allocated, buffer)
    return self._give_back(allocated)
