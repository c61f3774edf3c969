# exercise: 2
# differs: it matches the pair of sizes
from operator import length_hint


def deallocate(self, buffer, size_bytes=None):
    length = length_hint(buffer)
    poolable = self.poolable_size_bytes
    match (size_bytes, length):
        case (None, now) if now != poolable:
            self._give_back(now)
        case (None | int(), now) if now == poolable and size_bytes in (None, poolable):
            self._give_back(now, buffer)
        case (told, _):
            self._give_back(told)
