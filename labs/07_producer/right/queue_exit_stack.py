# exercise: 3
# differs: callbacks of an ExitStack leave the queue, in reverse order
from contextlib import ExitStack

from kminilog.producer.buffer_pool import Waiter


def wait_in_queue(self, size_bytes, max_time_to_block_ms):
    waiter = Waiter(self._new_condition(self._lock), size_bytes)

    def give_back(kind, error, traceback):
        if error is not None:
            self._available_bytes += waiter.collected_bytes

    self._waiters.extend([waiter])
    with ExitStack() as leaving:
        leaving.callback(self._wake_first)
        leaving.callback(self._waiters.remove, waiter)
        leaving.push(give_back)
        self.wait_until_served(waiter, max_time_to_block_ms)
    return waiter.buffer
