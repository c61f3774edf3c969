"""The errors of bulk jobs, from source to publication: a branch of the tree in `errors`.

Source: ours.
"""

from kminilog.errors import KMiniLogError


class PublicationError(KMiniLogError):
    """Files that cannot be made part of a topic; the topic is unchanged."""

    def __init__(self, job_id: str, *, reason: str) -> None:
        super().__init__(f"job {job_id}: {reason}; the topic is unchanged")
        self.job_id = job_id
        self.reason = reason


class SourceError(KMiniLogError):
    """A source of records that cannot be read as asked; nothing was written."""

    def __init__(self, source: str, *, reason: str) -> None:
        super().__init__(f"source {source}: {reason}")
        self.source = source
        self.reason = reason


class SparkUnavailableError(KMiniLogError):
    """Spark cannot run here: no Java, no pyspark, one too old, or no session."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Spark cannot run: {reason}")
        self.reason = reason
