# exercise: 5
# reason: in-flight-never-done
def release(batch, pool):
    if not batch.is_in_flight:
        batch.is_done = True
        pool.deallocate(batch.buffer)
