# exercise: 5
# reason: returns-bytes-used
def release(batch, pool):
    batch.is_done = True
    if not batch.is_in_flight:
        pool.deallocate(batch.buffer, batch.size_bytes)
