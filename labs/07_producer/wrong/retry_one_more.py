# exercise: 7
# reason: one-retry-more
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    return attempts <= retries + 1 and isinstance(error, RetriableError)
