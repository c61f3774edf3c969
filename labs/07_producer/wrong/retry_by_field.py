# exercise: 7
# reason: asks-not-class
def may_retry(attempts, retries, error):
    return attempts <= retries and hasattr(error, "partition")
