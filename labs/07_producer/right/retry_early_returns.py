# exercise: 7
# differs: each reason to give up returns by itself
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    if attempts > retries:
        return False
    return isinstance(error, RetriableError)
