# exercise: 7
# differs: the attempts that are tried again are a range
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    return issubclass(type(error), RetriableError) and attempts in range(1, retries + 1)
