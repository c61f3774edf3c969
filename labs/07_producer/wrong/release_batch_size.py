# exercise: 5
# reason: returns-batch-size
def release(batch, pool):
    batch.is_done = True
    if not batch.is_in_flight:
        pool.deallocate(batch.buffer, pool.poolable_size_bytes)
