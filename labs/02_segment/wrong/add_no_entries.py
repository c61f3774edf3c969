# exercise: 2
# reason: no-entries


def add(self, offset: int, data: bytes) -> None:
    self.added.append(data)
    self.size_bytes += len(data)
