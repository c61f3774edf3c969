# exercise: 4
# differs: it calls itself with the time that is left, and tells the whole time
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, budget_ms):
    self._refuse_if_closed()
    if self._waiters[0] is waiter:
        self._collect(waiter)
    if waiter.is_served:
        return
    if budget_ms <= 0:
        raise BufferExhaustedError(blocked_ms=budget_ms)
    began_ms = self._clock.now_ms()
    self._wait_once(waiter.condition, budget_ms)
    left_ms = budget_ms - (self._clock.now_ms() - began_ms)
    try:
        self.wait_until_served(waiter, max(left_ms, 0))
    except BufferExhaustedError:
        raise BufferExhaustedError(blocked_ms=budget_ms) from None
