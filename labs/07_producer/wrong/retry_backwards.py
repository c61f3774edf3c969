# exercise: 7
# reason: retries-backwards
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    return attempts <= retries and not isinstance(error, RetriableError)
