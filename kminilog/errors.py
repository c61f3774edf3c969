"""The errors that kminilog raises on purpose: one tree, each class with fields.

A class exists only where a caller would act differently. The text of an error is built from its
fields: what is wrong, where, and what to do. Bad arguments of a call are plain `ValueError`s. Here
are the root and what storage raises; other branches stand in `client_errors`, `consumer.errors` and
`job_errors`.
"""

import errno


class KMiniLogError(Exception):
    """The root of the tree: catch this and nothing of ours gets past."""


class CorruptBytesError(KMiniLogError):
    """Bytes that cannot be what they should be; `position` counts from the start of those bytes."""

    def __init__(self, reason: str, *, position: int) -> None:
        super().__init__(f"{reason} at byte {position}")
        self.reason = reason
        self.position = position


class CorruptLogError(KMiniLogError):
    """A file of a partition holds damage that is not a torn tail; nothing was changed."""

    def __init__(self, path: str, *, position: int, reason: str, remedy: str = "") -> None:
        advice = f"; {remedy}" if remedy else ""
        super().__init__(f"{path}: damaged at byte {position}: {reason}{advice}")
        self.path = path
        self.position = position
        self.reason = reason


class CompressedMessageError(KMiniLogError):
    """A compressed message where plain ones are needed, or in a codec that cannot be opened."""

    def __init__(self, codec: str, *, where: str, remedy: str) -> None:
        super().__init__(f"{where}: a message compressed with {codec}; {remedy}")
        self.codec = codec


class OffsetOutOfRangeError(KMiniLogError):
    """The offset lies below the first message of a partition, or beyond its end."""

    def __init__(
        self, where: str, *, offset: int, log_start_offset: int, log_end_offset: int
    ) -> None:
        held = f"it holds offsets from {log_start_offset} up to, not including, {log_end_offset}"
        if log_start_offset == log_end_offset:
            held = f"it is empty, and offset {log_end_offset} comes next"
        super().__init__(f"{where}: offset {offset} is out of range; {held}")
        self.offset = offset
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset


class MessageTooLargeError(KMiniLogError):
    """One message is larger than a setting of its topic allows; nothing was written.

    Who has not read all of it gives the least that it can be, as `is_at_least` says.
    """

    def __init__(
        self, *, size_bytes: int, limit_bytes: int, setting: str, is_at_least: bool = False
    ) -> None:
        size = f"at least {size_bytes} bytes" if is_at_least else f"{size_bytes} bytes"
        self.reason = f"a message of {size} is larger than {setting} = {limit_bytes}"
        super().__init__(
            f"{self.reason}; nothing of its batch was written; send less or raise {setting}"
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes
        self.setting = setting


class NullValueError(KMiniLogError):
    """A null value for a dialect whose messages have no value length; nothing was written."""

    def __init__(self, dialect: str) -> None:
        super().__init__(
            f"the {dialect} dialect has no null value; nothing of the batch was written; "
            "send an empty value, or use a topic in the kafka dialect"
        )
        self.dialect = dialect


class WriteFailedError(KMiniLogError):
    """The operating system refused a write; `restored` says if the log is as it was before.

    If it is not, messages with the offsets `in_doubt` may be in it: all, the first few, or none.
    """

    def __init__(
        self, path: str, *, reason: str, restored: bool, in_doubt: range = range(0)
    ) -> None:
        if restored:
            outcome = "the log is as it was before the call"
        else:
            outcome = "the log could not be put back; close it and open it again to recover"
        if in_doubt:
            outcome = f"offsets {in_doubt[0]}..{in_doubt[-1]} may be in the log; {outcome}"
        super().__init__(f"{path}: write failed: {reason}; {outcome}")
        self.path = path
        self.reason = reason
        self.restored = restored
        self.in_doubt = in_doubt


class LogClosedError(KMiniLogError):
    """A write to a log that is closed, read-only, or broken by an earlier failure."""

    def __init__(self, where: str, *, reason: str) -> None:
        super().__init__(f"{where}: cannot write: {reason}")


class LogDirError(KMiniLogError):
    """A log dir that is missing, unreadable, or not what a log dir should be."""

    def __init__(self, path: str, *, reason: str) -> None:
        super().__init__(f"log dir {path}: {reason}")
        self.path = path
        self.reason = reason


class NotARegularFileError(KMiniLogError, OSError):
    """Something else stands where a regular file belongs; one more way not to be readable."""

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
