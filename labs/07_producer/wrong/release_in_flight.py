# exercise: 5
# reason: return-in-flight
def release(batch, pool):
    batch.is_done = True
    pool.deallocate(batch.buffer)
