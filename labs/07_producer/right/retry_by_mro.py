# exercise: 7
# differs: it looks for the class among those from which the error's class is derived
from kminilog.errors import RetriableError


def may_retry(attempts, retries, error):
    return RetriableError in type(error).mro() and attempts - 1 < retries
