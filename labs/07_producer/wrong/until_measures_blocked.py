# exercise: 4
# reason: blocked-ms-measured
from kminilog.errors import BufferExhaustedError


def wait_until_served(self, waiter, max_time_to_block_ms):
    began = self._clock.now_ms()
    while True:
        self._refuse_if_closed()
        if self._waiters[0] is waiter:
            self._collect(waiter)
        if waiter.is_served:
            return
        elapsed = self._clock.now_ms() - began
        if elapsed >= max_time_to_block_ms:
            raise BufferExhaustedError(blocked_ms=elapsed)
        self._wait_once(waiter.condition, max_time_to_block_ms - elapsed)
