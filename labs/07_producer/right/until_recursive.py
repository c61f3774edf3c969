# exercise: 4
# differs: each wait is a call with the time that is left
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    _look(self, waiter, self._clock.now_ms() + max_time_to_block_ms, max_time_to_block_ms)


def _look(pool, waiter, deadline_ms, whole_ms):
    pool._refuse_if_closed()
    first, *_ = pool._waiters
    if first is waiter:
        pool._collect(waiter)
    left_ms = deadline_ms - pool._clock.now_ms()
    if not waiter.is_served:
        if left_ms <= 0:
            raise BufferExhaustedError(blocked_ms=whole_ms)
        pool._wait_once(waiter.condition, left_ms)
        _look(pool, waiter, deadline_ms, whole_ms)
