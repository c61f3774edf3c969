# exercise: 7
# reason: retries-for-cause
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    while error is not None:
        if isinstance(error, RetriableError):
            return attempts <= retries
        error = error.__cause__
    return False
