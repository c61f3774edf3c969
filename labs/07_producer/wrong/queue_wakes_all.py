# exercise: 3
# reason: wakes-all
from kminilog.producer.buffer_pool import Waiter


def wait_in_queue(self, size_bytes, max_time_to_block_ms):
    waiter = Waiter(self._new_condition(self._lock), size_bytes)
    self._waiters.append(waiter)
    try:
        self.wait_until_served(waiter, max_time_to_block_ms)
    except BaseException:
        self._available_bytes += waiter.collected_bytes
        raise
    finally:
        self._waiters.remove(waiter)
        for other in self._waiters:
            other.condition.notify()
    return waiter.buffer
