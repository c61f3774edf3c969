# exercise: 7
# reason: retries-nothing
def may_retry(attempts, retries, error):
    return False
