# exercise: 5
# reason: never-done
def release(batch, pool):
    if not batch.is_in_flight:
        pool.deallocate(batch.buffer)
