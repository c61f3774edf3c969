# exercise: 3
# differs: a context manager joins and leaves the queue
from contextlib import contextmanager

from kminilog.producer.buffer_pool import Waiter


@contextmanager
def _in_queue(pool, waiter):
    pool._waiters.append(waiter)
    is_served = False
    try:
        yield
        is_served = True
    finally:
        if not is_served:
            pool._available_bytes += waiter.collected_bytes
        pool._waiters.remove(waiter)
        pool._wake_first()


def wait_in_queue(self, size_bytes, max_time_to_block_ms):
    waiter = Waiter(self._new_condition(self._lock), size_bytes)
    with _in_queue(self, waiter):
        self.wait_until_served(waiter, max_time_to_block_ms)
    return waiter.buffer
