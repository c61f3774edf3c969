# exercise: 7
# reason: retries-one-kind
from kminilog.errors import LeaderNotAvailableError


def may_retry(attempts, retries, error):
    return attempts <= retries and isinstance(error, LeaderNotAvailableError)
