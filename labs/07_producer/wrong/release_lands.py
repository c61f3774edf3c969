# exercise: 5
# reason: flight-denied
def release(batch, pool):
    batch.is_done = True
    if batch.is_in_flight:
        batch.is_in_flight = False
    else:
        pool.deallocate(batch.buffer)
