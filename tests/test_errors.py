"""The tree of errors: what may be tried again, what a text says in each case, what fields hold."""

import errno
import inspect

import pytest

from kminilog import errors
from kminilog.errors import (
    CorruptLogError,
    KMiniLogError,
    LeaderNotAvailableError,
    LogDirError,
    LogDirLockedError,
    MessageTooLargeError,
    NoClusterError,
    NotARegularFileError,
    NotLeaderForPartitionError,
    OffsetOutOfRangeError,
    PartitionOfRecordError,
    PluginError,
    RequestTimedOutError,
    RetriableError,
    SerializationError,
    SourceChangedError,
    SourceError,
    TopicBeingDeletedError,
    TopicDeletedError,
    UnknownTopicOrPartitionError,
    WriteFailedError,
    in_words,
)

CLASSES = [one for _, one in inspect.getmembers(errors, inspect.isclass)]
ERRORS = [one for one in CLASSES if one not in (KMiniLogError, RetriableError)]  # to be raised

# An argument of each type, for any error.
ARGUMENTS = {int: 1234, int | None: 1234, bool: True, range: range(4, 9)}


def arguments_of(one: type[KMiniLogError]) -> inspect.BoundArguments:
    """Return arguments for an error: a text is a word of its own, which says whose it is."""
    signature = inspect.signature(one)
    bound = signature.bind_partial()
    for name, parameter in signature.parameters.items():
        bound.arguments[name] = ARGUMENTS.get(parameter.annotation, f"some-{name}")
    return bound


# ---- the tree


def test_every_error_is_in_the_tree():
    assert len(CLASSES) > 30
    assert [one for one in CLASSES if not issubclass(one, KMiniLogError)] == []


def test_errors_whose_cause_may_go_away_are_these_and_no_others():
    assert {one for one in CLASSES if issubclass(one, RetriableError)} == {
        RetriableError,
        LogDirLockedError,
        LeaderNotAvailableError,
        NotLeaderForPartitionError,
        RequestTimedOutError,
        SourceChangedError,
    }


@pytest.mark.parametrize(
    ("one", "wider"),
    [
        (TopicBeingDeletedError, UnknownTopicOrPartitionError),
        (TopicDeletedError, UnknownTopicOrPartitionError),
        (PartitionOfRecordError, UnknownTopicOrPartitionError),
        (SourceChangedError, SourceError),
        (NotARegularFileError, OSError),
    ],
)
def test_error_that_is_a_case_of_a_wider_one_is_caught_with_it(one, wider):
    assert issubclass(one, wider)


# ---- fields and texts


def test_error_keeps_its_arguments_in_the_fields_of_their_names():
    for one in ERRORS:
        given = arguments_of(one)
        fields = vars(one(*given.args, **given.kwargs))
        for name, value in given.arguments.items():
            assert fields.get(name, value) == value, (one, name)


def test_error_says_all_texts_that_it_was_given():
    """Only of a record, Kafka names no topic: who sends the record knows it."""
    left_out = []
    for one in ERRORS:
        given = arguments_of(one)
        said = str(one(*given.args, **given.kwargs))
        texts = [name for name, value in given.arguments.items() if isinstance(value, str)]
        left_out += [(one, name) for name in texts if given.arguments[name] not in said]
    assert left_out == [(PartitionOfRecordError, "topic")]


def test_error_about_what_is_no_regular_file_has_the_fields_of_the_system():
    error = NotARegularFileError("0.log", what="a FIFO")
    assert (error.errno, error.filename) == (errno.EINVAL, "0.log")
    assert str(error) == "0.log: a FIFO, not a regular file; move it away"


def out_of_range(start: int, end: int, **options: bool) -> str:
    return str(
        OffsetOutOfRangeError(
            "orders-0", offset=7, log_start_offset=start, log_end_offset=end, **options
        )
    )


def test_offset_out_of_range_says_what_the_log_holds_or_that_it_is_in_a_gap():
    said = "orders-0: offset 7 is "
    held = "it holds offsets from 8 up to, not including, 10"
    assert out_of_range(8, 10) == f"{said}out of range; {held}"
    assert out_of_range(8, 8) == f"{said}out of range; it is empty, and offset 8 comes next"
    assert out_of_range(0, 9, is_in_gap=True) == f"{said}in a gap of the log; no message has it"


@pytest.mark.parametrize(("is_at_least", "size"), [(False, "9 bytes"), (True, "at least 9 bytes")])
def test_message_too_large_says_if_it_knows_only_a_lower_bound(is_at_least, size):
    error = MessageTooLargeError(
        size_bytes=9, limit_bytes=8, setting="segment.bytes", is_at_least=is_at_least
    )
    assert error.reason == f"a message of {size} is larger than segment.bytes = 8"
    assert str(error).startswith(f"{error.reason}; nothing of its batch was written; send less or")


@pytest.mark.parametrize(
    ("restored", "in_doubt", "outcome"),
    [
        (True, range(0), "the log is as it was before the call"),
        (False, range(0), "the log could not be put back; close it and open it again to recover"),
        (
            False,
            range(4, 9),
            "offsets 4..8 may be in the log; "
            "the log could not be put back; close it and open it again to recover",
        ),
    ],
)
def test_write_that_failed_says_what_is_in_the_log_now(restored, in_doubt, outcome):
    error = WriteFailedError("0.log", reason="full", restored=restored, in_doubt=in_doubt)
    assert str(error) == f"0.log: write failed: full; {outcome}"


def unknown(one: type[UnknownTopicOrPartitionError], **options: int) -> str:
    return str(one("orders", **options))


def test_topic_that_is_unknown_says_why_and_a_partition_says_which_there_are():
    assert unknown(UnknownTopicOrPartitionError).startswith("Topic orders doesn't exist; ")
    deletion = "Topic orders is being deleted; after a crash, `kminilog topic delete orders --yes` "
    assert unknown(TopicBeingDeletedError) == f"{deletion}deletes the rest"
    assert unknown(TopicDeletedError).startswith("Topic orders was deleted while it was read")
    valid = "Valid values are in the inclusive range of [0, 2]"
    assert unknown(UnknownTopicOrPartitionError, partition=3, partitions=3).endswith(valid)
    refused = "Invalid partition given with record: 3 is not in the range [0...2]."
    assert unknown(PartitionOfRecordError, partition=3, partitions=3) == refused


WAIT = "only one writer at a time: wait until it has finished"
NO_LEADER = "start a broker that has an in-sync copy"
TEXTS: dict[str, KMiniLogError] = {
    "0.log, byte 3: damaged: bad": CorruptLogError("0.log", position=3, reason="bad"),
    "0.log, byte 3: damaged: bad; mend it": CorruptLogError(
        "0.log", position=3, reason="bad", remedy="mend it"
    ),
    f"log dir logs: process 5 is writing to it; {WAIT}": LogDirLockedError(
        "logs", holder="process 5"
    ),
    f"log dir logs: process 5 is writing to it, still after 1.5 s of waiting; {WAIT}": (
        LogDirLockedError("logs", holder="process 5", waited_ms=1500)
    ),
    f"No leader for any partition in topic orders; {NO_LEADER}": LeaderNotAvailableError("orders"),
    f"No leader for partition 0 of topic orders; {NO_LEADER}": LeaderNotAvailableError(
        "orders", partition=0
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_error_says_more_if_more_is_known(text):
    assert str(TEXTS[text]) == text


def test_directory_that_is_no_cluster_says_if_it_is_a_log_dir():
    nothing = NoClusterError("logs", file="cluster.json")
    log_dir = NoClusterError("logs", file="cluster.json", is_topic=True)
    advice = "; `kminilog cluster create DIR --brokers N` makes one in a new directory"
    assert str(nothing) == f"logs: not a cluster: it has no cluster.json{advice}"
    reason = "its cluster.json has the settings of a topic, so it is a log dir"
    assert str(log_dir) == f"logs: not a cluster: {reason}{advice}"


def test_error_of_a_class_whose_reason_ends_with_a_full_stop_goes_on_behind_it():
    plugin = PluginError("setting", path="a.Class", reason="no.")
    assert str(plugin) == "setting a.Class: no; nothing was done"
    refused = SerializationError("key", serializer="a.Class", reason="no.")
    assert str(refused) == "key: a.Class serialiser: no; the message was not written"


# ---- in words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("as it is"), "as it is"),
        (LogDirError("logs", reason="bad"), "log dir logs: bad"),
        (
            NotARegularFileError("0.log", what="a FIFO"),
            "0.log: a FIFO, not a regular file; move it away",
        ),
        (OSError("without a number"), "without a number"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (OSError(errno.EIO, "Input/output error", "0.log"), "0.log: Input/output error"),
        (OSError(errno.EXDEV, "Another disk", "from", None, "to"), "from: Another disk"),
        (OSError(errno.ENOSPC, "No space", "0.log"), "0.log: No space"),
        (OSError(errno.ENOSPC, "No space", "from", None, "to"), "to: No space"),
        (OSError(errno.EDQUOT, "Quota", "from", None, "to"), "to: Quota"),
        (OSError(errno.EFBIG, "Too large", "from", None, "to"), "to: Too large"),
    ],
)
def test_in_words_is_what_happened_to_which_file(error, words):
    assert in_words(error) == words
