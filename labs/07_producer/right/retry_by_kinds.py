# exercise: 7
# differs: it names the three kinds of errors that may go away
from kminilog import errors

KINDS = (
    errors.LeaderNotAvailableError,
    errors.NotLeaderForPartitionError,
    errors.RequestTimedOutError,
)


def may_retry(attempts, retries, error):
    return isinstance(error, KINDS) and attempts - 1 < retries
