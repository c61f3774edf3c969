# exercise: 5
# reason: never-returned
def release(batch, pool):
    batch.is_done = True
