# exercise: 4
# reason: ends-without-memory
def wait_until_served(self, waiter, max_time_to_block_ms):
    deadline = self._clock.now_ms() + max_time_to_block_ms
    while True:
        self._refuse_if_closed()
        if self._waiters[0] is waiter:
            self._collect(waiter)
        remaining = deadline - self._clock.now_ms()
        if waiter.is_served or remaining <= 0:
            return
        self._wait_once(waiter.condition, remaining)
