# exercise: 1
# reason: never-gives-up
def take_bytes(self, size_bytes):
    self._available_bytes -= size_bytes
