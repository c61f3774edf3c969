# exercise: 2
# reason: never-pools
def deallocate(self, buffer, size_bytes=None):
    self._give_back(len(buffer) if size_bytes is None else size_bytes)
