# exercise: 4
# reason: served-by-bytes-only
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    deadline = self._clock.now_ms() + max_time_to_block_ms
    while waiter.collected_bytes < waiter.needed_bytes:
        self._refuse_if_closed()
        if self._waiters[0] is waiter:
            self._collect(waiter)
        left = deadline - self._clock.now_ms()
        if waiter.collected_bytes < waiter.needed_bytes:
            if left <= 0:
                raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
            self._wait_once(waiter.condition, left)
