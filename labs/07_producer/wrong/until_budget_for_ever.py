# exercise: 4
# reason: budget-for-each-wait
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    while True:
        self._refuse_if_closed()
        if self._waiters[0] is waiter:
            self._collect(waiter)
        if waiter.is_served:
            return
        if max_time_to_block_ms <= 0:
            raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
        self._wait_once(waiter.condition, max_time_to_block_ms)
