# exercise: 4
# reason: waits-without-time
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    deadline = self._clock.now_ms() + max_time_to_block_ms
    is_awake = True
    while True:
        self._refuse_if_closed()
        if self._waiters[0] is waiter:
            self._collect(waiter)
        if waiter.is_served:
            return
        if not is_awake:
            raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
        remaining = max(deadline - self._clock.now_ms(), 0)
        is_awake = self._wait_once(waiter.condition, remaining)
