# exercise: 4
# reason: time-before-close
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    deadline = self._clock.now_ms() + max_time_to_block_ms
    while True:
        left = deadline - self._clock.now_ms()
        if self._waiters[0] is waiter and not self._is_closed:
            self._collect(waiter)
        if waiter.is_served:
            return
        if left <= 0:
            raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
        self._refuse_if_closed()
        self._wait_once(waiter.condition, left)
