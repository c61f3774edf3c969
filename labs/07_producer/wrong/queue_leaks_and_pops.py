# exercise: 3
# reason: leak-on-timeout
from kminilog.producer.buffer_pool import Waiter


def wait_in_queue(self, size_bytes, max_time_to_block_ms):
    waiter = Waiter(self._new_condition(self._lock), size_bytes)
    self._waiters.append(waiter)
    try:
        self.wait_until_served(waiter, max_time_to_block_ms)
    finally:
        self._waiters.popleft()
        self._wake_first()
    return waiter.buffer
