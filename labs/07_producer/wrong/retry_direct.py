# exercise: 7
# reason: retries-one-kind
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    return attempts <= retries and RetriableError in type(error).__bases__
