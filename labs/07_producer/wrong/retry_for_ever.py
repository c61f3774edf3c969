# exercise: 7
# reason: never-gives-up-sending
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    return isinstance(error, RetriableError)
