# exercise: 5
# reason: pools-copy
def release(batch, pool):
    batch.is_done = True
    if not batch.is_in_flight:
        pool.deallocate(bytearray(batch.buffer))
