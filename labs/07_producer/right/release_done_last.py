# exercise: 5
# differs: the memory goes back first, then the batch is done
def release(batch, pool):
    if not batch.is_in_flight:
        pool.deallocate(buffer=batch.buffer)
    batch.is_done = True
