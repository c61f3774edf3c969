# exercise: 7
# reason: retries-what-stays-wrong
def may_retry(attempts, retries, error):
    return attempts <= retries
