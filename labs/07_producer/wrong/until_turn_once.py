# exercise: 4
# reason: turn-asked-once
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    deadline = self._clock.now_ms() + max_time_to_block_ms
    is_first = self._waiters[0] is waiter
    while True:
        self._refuse_if_closed()
        if is_first:
            self._collect(waiter)
        if waiter.is_served:
            return
        left = deadline - self._clock.now_ms()
        if left <= 0:
            raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
        self._wait_once(waiter.condition, left)
