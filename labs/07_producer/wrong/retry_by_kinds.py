# exercise: 7
# reason: retries-one-kind
from kminilog import errors

KINDS = (
    errors.LeaderNotAvailableError,
    errors.NotLeaderForPartitionError,
    errors.RequestTimedOutError,
)


def may_retry(attempts, retries, error):
    return isinstance(error, KINDS) and attempts - 1 < retries
