# exercise: 4
# reason: wait-untold
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    deadline = self._clock.now_ms() + max_time_to_block_ms
    over = False
    while True:
        self._refuse_if_closed()
        if self._waiters[0] is waiter:
            self._collect(waiter)
        if waiter.is_served:
            return
        left = deadline - self._clock.now_ms()
        if left <= 0 or over:
            raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
        over = not waiter.condition.wait(left / 1000)
