# exercise: 5
# reason: asks-more-than-flight
def release(batch, pool):
    batch.is_done = True
    if not batch.is_in_flight and not batch.attempts:
        pool.deallocate(batch.buffer)
