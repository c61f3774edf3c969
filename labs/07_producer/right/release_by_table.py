# exercise: 5
# differs: a table has what to do in each case
def release(batch, pool):
    steps = {True: [], False: [pool.deallocate]}
    batch.is_done = True
    for step in steps[batch.is_in_flight]:
        step(batch.buffer)
