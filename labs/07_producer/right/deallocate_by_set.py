# exercise: 2
# differs: it compares three sizes as a set
def deallocate(self, buffer, size_bytes=None):
    sizes = {len(buffer), self.poolable_size_bytes}
    if size_bytes is not None:
        sizes.add(size_bytes)
    reusable = buffer if len(sizes) == 1 else None
    self._give_back(len(buffer) if size_bytes is None else size_bytes, reusable)
