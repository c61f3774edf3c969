# exercise: 5
# reason: asks-more-than-flight
def release(batch, pool):
    batch.is_done = True
    if batch.size_bytes and not batch.is_in_flight:
        pool.deallocate(batch.buffer)
