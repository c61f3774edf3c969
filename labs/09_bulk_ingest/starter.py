"""Lab 9, bulk ingest with spark: your answers. README.md says what to do."""


# 9.1  A commit by hand
def commit(folder, job_id, outputs):
    """Let readers see the outputs of a job: at once, in this order, and only once.

    `outputs` are names of files in `folder/staging`. Readers see `folder/visible/JOB.txt`, for the
    id of the job, with the bytes of all of them. If that file is there already, it stays as it is.
    In the end staging has no files.
    """
    raise NotImplementedError


# 9.2  A job that may fail
ingest = ...


# 9.3  Who may commit
def may_commit(events):
    """Return which attempts may commit after some events, as (task, attempt), ascending.

    An event is ("asks", task, attempt) or ("fails", task, attempt), in the order in which the
    driver hears of them. Numbers begin at 0.

    >>> may_commit([("asks", 0, 0), ("asks", 1, 0), ("fails", 0, 0), ("asks", 0, 1)])
    [(0, 1), (1, 0)]
    """
    raise NotImplementedError


# 9.7  Inputs that expose a wrong choice
EXPOSE_MAY_COMMIT = ...
