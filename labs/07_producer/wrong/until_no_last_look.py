# exercise: 4
# reason: clock-before-memory
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    end = self._clock.now_ms() + max_time_to_block_ms
    while not waiter.is_served:
        self._refuse_if_closed()
        if self._waiters[0] is waiter:
            self._collect(waiter)
        if not waiter.is_served:
            remaining = end - self._clock.now_ms()
            if not self._wait_once(waiter.condition, remaining):
                raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
