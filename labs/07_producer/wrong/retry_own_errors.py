# exercise: 7
# reason: retries-what-stays-wrong
from kminilog.errors import KMiniLogError


def may_retry(attempts, retries, error):
    return attempts <= retries and isinstance(error, KMiniLogError)
