"""The errors that kminilog raises on purpose: one tree of classes.

A class of its own exists only where a caller would act differently. Its text says what is wrong,
where, and what to do; its fields hold what callers ask for. A bad argument is a plain
`ValueError`. This module has the root and the errors of storage; other branches are
`client_errors`, `consumer.errors`, `job_errors` and `log_dir_errors`.
"""

import errno


class KMiniLogError(Exception):
    """The root of the tree: `except KMiniLogError` catches all of them."""


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
