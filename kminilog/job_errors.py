"""The errors of bulk jobs, from source to publication: a branch of the tree in `errors`.

Source: ours.
"""

from kminilog.errors import KMiniLogError


class PublicationError(KMiniLogError):
    """A job's files cannot become part of the topic; the topic is unchanged."""

    def __init__(self, job_id: str, *, reason: str) -> None:
        super().__init__(f"job {job_id}: {reason}; the topic is unchanged")
        self.job_id = job_id
        self.reason = reason


class SourceError(KMiniLogError):
    """The source of records cannot be read as asked; nothing was written."""

    def __init__(self, source: str, *, reason: str) -> None:
        super().__init__(f"source {source}: {reason}")
        self.source = source
        self.reason = reason


class SparkUnavailableError(KMiniLogError):
    """Spark cannot run: Java or pyspark is missing or too old, or the session did not start."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Spark cannot run: {reason}")
        self.reason = reason
