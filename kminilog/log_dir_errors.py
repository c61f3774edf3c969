"""The errors of a log dir or cluster: it is locked or not there, or a topic's name is refused."""

from kminilog.errors import KMiniLogError


class LogDirLockedError(KMiniLogError):
    """Another process writes to this log dir. Readers need no lock, so they never get this."""

    def __init__(self, path: str, *, holder: str, waited_ms: int = 0) -> None:
        waited = f", still after {waited_ms / 1000:.1f} s of waiting" if waited_ms else ""
        super().__init__(
            f"log dir {path}: {holder} is writing to it{waited}; "
            "only one writer at a time: wait until it has finished"
        )
        self.path = path
        self.holder = holder
        self.waited_ms = waited_ms


class InvalidTopicError(KMiniLogError):
    """A topic name that Kafka's rules do not allow."""

    def __init__(self, topic: str, *, reason: str) -> None:
        super().__init__(f"illegal topic name {topic!r}: {reason}")
        self.topic = topic
        self.reason = reason


class TopicExistsError(KMiniLogError):
    """A topic of that name exists already; it is unchanged."""

    def __init__(
        self, topic: str, *, remedy: str = "choose another name or delete it first"
    ) -> None:
        super().__init__(f"topic {topic!r} exists already; {remedy}")
        self.topic = topic


class NoClusterError(KMiniLogError):
    """The directory holds no cluster, but a topic of that name or nothing, or does not exist."""

    def __init__(self, path: str, *, file: str, is_topic: bool = False) -> None:
        reason = f"it has no {file}"
        if is_topic:
            reason = f"its {file} has the settings of a topic, so it is a log dir"
        super().__init__(
            f"{path}: not a cluster: {reason}; "
            f"`kminilog cluster create DIR --brokers N` makes one in a new directory"
        )
        self.path = path
