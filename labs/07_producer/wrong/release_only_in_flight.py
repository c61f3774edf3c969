# exercise: 5
# reason: returns-only-in-flight
def release(batch, pool):
    batch.is_done = True
    if batch.is_in_flight:
        pool.deallocate(batch.buffer)
