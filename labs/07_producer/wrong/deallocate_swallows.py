# exercise: 2
# reason: second-return-unnoticed
from contextlib import suppress


def deallocate(self, buffer, size_bytes=None):
    size = len(buffer) if size_bytes is None else size_bytes
    same = size == len(buffer) == self.poolable_size_bytes
    with suppress(ValueError):
        self._give_back(size, buffer if same else None)
