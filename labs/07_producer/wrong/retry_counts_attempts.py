# exercise: 7
# reason: retries-are-attempts
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    return attempts < retries and isinstance(error, RetriableError)
