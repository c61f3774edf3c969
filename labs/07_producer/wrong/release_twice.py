# exercise: 5
# reason: returns-twice
from contextlib import suppress


def release(batch, pool):
    batch.is_done = True
    if not batch.is_in_flight:
        pool.deallocate(batch.buffer)
        with suppress(ValueError):
            pool.deallocate(batch.buffer)
