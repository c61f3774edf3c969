# exercise: 5
# reason: batch-changed
def release(batch, pool):
    batch.is_done = True
    batch.records.clear()
    if not batch.is_in_flight:
        pool.deallocate(batch.buffer)
