# exercise: 4
# reason: gives-up-when-woken
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    self._refuse_if_closed()
    if self._waiters[0] is waiter:
        self._collect(waiter)
    if not waiter.is_served and max_time_to_block_ms > 0:
        self._wait_once(waiter.condition, max_time_to_block_ms)
        self._refuse_if_closed()
        if self._waiters[0] is waiter:
            self._collect(waiter)
    if not waiter.is_served:
        raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
