# exercise: 7
# reason: retries-errors-of-python
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    return attempts <= retries and isinstance(error, (RetriableError, OSError))
