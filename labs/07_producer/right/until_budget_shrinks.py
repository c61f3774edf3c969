# exercise: 4
# differs: the budget shrinks by the time that each wait took
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    budget_ms = max_time_to_block_ms
    while True:
        self._refuse_if_closed()
        if self._waiters.index(waiter) == 0:
            self._collect(waiter)
        if waiter.is_served:
            break
        if budget_ms <= 0:
            raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
        began_ms = self._clock.now_ms()
        self._wait_once(waiter.condition, budget_ms)
        budget_ms -= self._clock.now_ms() - began_ms
