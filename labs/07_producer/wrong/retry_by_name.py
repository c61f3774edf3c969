# exercise: 7
# reason: asks-not-class
def may_retry(attempts, retries, error):
    return attempts <= retries and any(
        "Retriable" in each.__name__ or "TimedOut" in each.__name__ for each in type(error).__mro__
    )
