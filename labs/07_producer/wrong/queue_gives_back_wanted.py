# exercise: 3
# reason: gives-back-wanted
from kminilog.producer.buffer_pool import Waiter


def wait_in_queue(self, size_bytes, max_time_to_block_ms):
    waiter = Waiter(self._new_condition(self._lock), size_bytes)
    self._waiters.append(waiter)
    try:
        self.wait_until_served(waiter, max_time_to_block_ms)
    except BaseException:
        self._available_bytes += size_bytes
        raise
    finally:
        self._waiters.remove(waiter)
        self._wake_first()
    return waiter.buffer
