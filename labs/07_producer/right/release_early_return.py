# exercise: 5
# differs: a batch in flight returns early
def release(batch, pool):
    batch.is_done = True
    if batch.is_in_flight:
        return
    pool.deallocate(batch.buffer, len(batch.buffer))
