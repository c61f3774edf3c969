"""The errors that kminilog raises on purpose: one tree of classes.

A class of its own exists only where a caller would act differently. Its text says what is wrong,
where, and what to do; its fields hold what callers ask for. A bad argument is a plain
`ValueError`. The errors of storage come first, then those of log dirs and clusters, of clients,
and of jobs. `consumer.errors` has those of consumer groups. At the end stand the functions that
write the commands which texts advise, and the text of any error.

Source: S1 3, S4; Kafka: Errors (LEADER_NOT_AVAILABLE, NOT_LEADER_FOR_PARTITION, REQUEST_TIMED_OUT).
"""

import errno


class KMiniLogError(Exception):
    """The root of the tree: `except KMiniLogError` catches all of them."""


class RetriableError(KMiniLogError):
    """Something failed whose cause may go away: trying again can help. The producer does so."""


class CorruptBytesError(KMiniLogError):
    """Bytes that break their format; `position` counts from the first of the given bytes."""

    def __init__(self, reason: str, *, position: int) -> None:
        super().__init__(f"{reason} at byte {position}")
        self.reason = reason
        self.position = position


class CorruptLogError(KMiniLogError):
    """A partition's file is damaged, and not just by a torn tail; nothing was changed."""

    def __init__(self, path: str, *, position: int, reason: str, remedy: str = "") -> None:
        advice = f"; {remedy}" if remedy else ""
        super().__init__(f"{path}, byte {position}: damaged: {reason}{advice}")
        self.path = path
        self.position = position
        self.reason = reason


class CompressedMessageError(KMiniLogError):
    """A compressed message, where only plain ones are supported, or in an unsupported codec."""

    def __init__(self, codec: str, *, where: str, remedy: str) -> None:
        super().__init__(f"{where}: a message compressed with {codec}; {remedy}")


class OffsetOutOfRangeError(KMiniLogError):
    """The offset is below the log start offset, beyond the log end offset, or in a gap."""

    def __init__(
        self,
        where: str,
        *,
        offset: int,
        log_start_offset: int,
        log_end_offset: int,
        is_in_gap: bool = False,
    ) -> None:
        held = f"it holds offsets from {log_start_offset} up to, not including, {log_end_offset}"
        if log_start_offset == log_end_offset:
            held = f"it is empty, and offset {log_end_offset} comes next"
        said = "in a gap of the log; no message has it" if is_in_gap else f"out of range; {held}"
        super().__init__(f"{where}: offset {offset} is {said}")
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class MessageTooLargeError(KMiniLogError):
    """A message is larger than a setting of its topic allows; nothing of its batch was written.

    With `is_at_least`, `size_bytes` is a lower bound: the caller did not read the whole message.
    """

    def __init__(
        self, *, size_bytes: int, limit_bytes: int, setting: str, is_at_least: bool = False
    ) -> None:
        size = f"at least {size_bytes} bytes" if is_at_least else f"{size_bytes} bytes"
        self.reason = f"a message of {size} is larger than {setting} = {limit_bytes}"
        super().__init__(
            f"{self.reason}; nothing of its batch was written; send less or raise {setting}"
        )


class NullValueError(KMiniLogError):
    """The dialect has no value length, so it cannot store null; nothing was written."""

    def __init__(self, dialect: str) -> None:
        super().__init__(
            f"the {dialect} dialect has no null value; nothing of the batch was written; "
            "send an empty value, or use a topic in the kafka dialect"
        )


class WriteFailedError(KMiniLogError):
    """The operating system refused a write; `restored` tells if the log is as before the call.

    If not, the log may hold all messages with the offsets `in_doubt`, the first few, or none.
    """

    def __init__(
        self, path: str, *, reason: str, restored: bool, in_doubt: range = range(0)
    ) -> None:
        outcome = "the log could not be put back; close it and open it again to recover"
        if restored:
            outcome = "the log is as it was before the call"
        if in_doubt:
            outcome = f"offsets {in_doubt[0]}..{in_doubt[-1]} may be in the log; {outcome}"
        super().__init__(f"{path}: write failed: {reason}; {outcome}")
        self.path = path
        self.reason = reason
        self.restored = restored
        self.in_doubt = in_doubt


class LogClosedError(KMiniLogError):
    """The log is closed, or an earlier failed write has broken it; nothing was written."""

    def __init__(self, where: str, *, reason: str) -> None:
        super().__init__(f"{where}: cannot write: {reason}")


class LogDirError(KMiniLogError):
    """The log dir is missing, unreadable, or holds something that a log dir must not."""

    def __init__(self, path: str, *, reason: str) -> None:
        super().__init__(f"log dir {path}: {reason}")
        self.path = path
        self.reason = reason


class NotARegularFileError(KMiniLogError, OSError):
    """A directory, FIFO, device or link stands where a regular file belongs. Also an OSError."""

    def __init__(self, path: str, *, what: str) -> None:
        self.path = path
        self.reason = f"{what}, not a regular file; move it away"
        super().__init__(errno.EINVAL, self.reason, path)

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class SettingError(KMiniLogError):
    """A setting with an unknown name or a value out of its bounds."""

    def __init__(self, name: str, *, reason: str) -> None:
        super().__init__(f"setting {name}: {reason}")
        self.name = name
        self.reason = reason


# A log dir or a cluster.


class LogDirLockedError(RetriableError):
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


# Clients and the cluster that they talk to. The cause of a `RetriableError` may go away, so the
# producer retries; all other errors are final.


class LeaderNotAvailableError(RetriableError):
    """No in-sync replica of the partition is up; without `partition`: of any of the topic's."""

    def __init__(self, topic: str, *, partition: int | None = None) -> None:
        which = "any partition in topic" if partition is None else f"partition {partition} of topic"
        super().__init__(f"No leader for {which} {topic}; start a broker that has an in-sync copy")
        self.topic = topic
        self.partition = partition


class NotLeaderForPartitionError(RetriableError):
    """The broker that took the request is no longer the leader; what it took may be lost."""

    def __init__(self, topic: str, *, partition: int, node: int) -> None:
        super().__init__(
            f"node {node} does not lead partition {partition} of topic {topic} any more; "
            "ask for the metadata again and send to the leader that it names"
        )
        self.topic = topic
        self.partition = partition
        self.node = node


class RequestTimedOutError(RetriableError):
    """Not all in-sync replicas have copied the messages in time; they may still do so."""

    def __init__(self, topic: str, *, partition: int, waited_ms: int) -> None:
        super().__init__(
            f"partition {partition} of topic {topic}: not on all in-sync replicas after "
            f"{waited_ms} ms; see if the followers fetch, or raise request.timeout.ms"
        )
        self.topic = topic
        self.partition = partition
        self.waited_ms = waited_ms


class PluginError(KMiniLogError):
    """A setting names a class that cannot be imported, created or used; nothing was done."""

    def __init__(self, setting: str, *, path: str, reason: str) -> None:
        super().__init__(f"{setting} {path}: {reason.removesuffix('.')}; nothing was done")
        self.setting = setting
        self.path = path
        self.reason = reason


class SerializationError(KMiniLogError):
    """The serialiser refuses a key or a value; the message was not written."""

    def __init__(self, what: str, *, serializer: str, reason: str) -> None:
        said = f"{serializer} serialiser: {reason.removesuffix('.')}"
        super().__init__(f"{what}: {said}; the message was not written")
        self.what = what
        self.reason = reason


class BufferExhaustedError(KMiniLogError):
    """No buffer memory became free within max.block.ms; the message was not written."""

    def __init__(self, *, blocked_ms: int) -> None:
        super().__init__(
            f"Failed to allocate memory within the configured max blocking time {blocked_ms} ms; "
            "send slower, or raise buffer.memory or max.block.ms"
        )
        self.blocked_ms = blocked_ms


class ClientClosedError(KMiniLogError):
    """The client was closed before the call, or while the call waited."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the {what} is closed; open another one")


class UnknownTopicOrPartitionError(KMiniLogError):
    """The topic does not exist, or has no partition of this number."""

    _absent = "Topic {} doesn't exist; `kminilog topic list` shows those that do"
    _outside = (
        "Invalid partition id: {} for topic {}; Valid values are in the inclusive range of [0, {}]"
    )

    def __init__(self, topic: str, *, partition: int | None = None, partitions: int = 0) -> None:
        text = self._absent.format(topic, typed("topic delete", topic, options="--yes"))
        if partition is not None:
            text = self._outside.format(partition, topic, partitions - 1)
        super().__init__(text)
        self.topic = topic
        self.partition = partition


class TopicBeingDeletedError(UnknownTopicOrPartitionError):
    """The topic is marked for deletion: somebody deletes it, or a crash has interrupted that."""

    _absent = "Topic {} is being deleted; after a crash, {} deletes the rest"


class TopicDeletedError(UnknownTopicOrPartitionError):
    """The topic was there before; it was deleted since, or is marked for deletion."""

    _absent = "Topic {} was deleted while it was read: nothing is left of it"


class PartitionOfRecordError(UnknownTopicOrPartitionError):
    """A record names a partition that its topic does not have (S2)."""

    _outside = "Invalid partition given with record: {0} is not in the range [0...{2}]."


# Bulk jobs, from their source to publication.


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


class SourceChangedError(SourceError, RetriableError):
    """Somebody has changed the source while it was read; nothing was written."""


class SparkUnavailableError(KMiniLogError):
    """Spark cannot run: Java or pyspark is missing or too old, or the session did not start."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Spark cannot run: {reason}")
        self.reason = reason


# Words for the texts of errors.


def command_words(command: str, names: list[str], options: list[str]) -> list[str]:
    """Return the words of a command to type; names that look like options stand after `--`.

    >>> command_words("recover", ["orders-0"], ["--dry-run"])
    ['kminilog', 'recover', 'orders-0', '--dry-run']
    >>> command_words("recover", ["-orders-0"], ["--dry-run"])
    ['kminilog', 'recover', '--dry-run', '--', '-orders-0']
    """
    is_dashed = any(name.startswith("-") for name in names)
    last = [*options, "--", *names] if is_dashed else [*names, *options]
    return ["kminilog", *command.split(), *last]


def typed(command: str, *names: object, options: str = "") -> str:
    """Return a command to type, in backquotes, for a text that advises it.

    >>> typed("topic delete", "orders", options="--yes")
    '`kminilog topic delete orders --yes`'
    """
    return f"`{' '.join(command_words(command, [str(one) for one in names], options.split()))}`"


def in_words(error: Exception) -> str:
    """Return the text of an error; of an OSError, what happened to which file.

    >>> in_words(NotADirectoryError(20, "Not a directory", "orders-0"))
    'orders-0: Not a directory'
    >>> in_words(OSError(28, "No space left on device", "from", None, "to"))
    'to: No space left on device'
    """
    if isinstance(error, OSError) and not isinstance(error, KMiniLogError) and error.strerror:
        # Of a copy, the operating system names both files; what is full is where the second one is.
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        name = (is_full and error.filename2) or error.filename
        return f"{name}: {error.strerror}" if name else error.strerror
    return str(error)
