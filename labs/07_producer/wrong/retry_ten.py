# exercise: 7
# reason: own-limit
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    return attempts <= min(retries, 10) and isinstance(error, RetriableError)
