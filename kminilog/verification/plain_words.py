"""For each class of findings, what it means and what to do, in plain words.

A report has these sentences for readers who do not know the classes. They promise nothing that
depends on the log. Source: ours.
"""

from kminilog.verification.findings import FindingClass

_K = FindingClass
_DAMAGED = "Readers stop there. `kminilog recover PARTITION --dry-run` says what can be kept."
_RUN_RECOVER = "No message is lost: `kminilog recover` builds the index again."
_LOOK_FIRST = "Find out who wrote these files before you repair anything."
_AGAIN = "The source still has it: it can be stored again, in another place."

_MEANINGS = {
    _K.BAD_CRC: (
        "The bytes of a message are not those that were written: its checksum does not fit.",
        _DAMAGED,
    ),
    _K.BAD_LENGTH: (
        "A message says that it has a length which is not possible, so nobody knows where it ends.",
        _DAMAGED,
    ),
    _K.BAD_MAGIC: (
        "A message says that it has another format than the one that kminilog writes.",
        _DAMAGED,
    ),
    _K.TORN_TAIL: (
        "The last message is not complete, as after a crash in the middle of a write.",
        "`kminilog recover` or the next writer cuts it off, and keeps what it cuts in a file.",
    ),
    _K.LOST_END: (
        "Messages at the end of the log were on the disk, and are gone.",
        "They cannot be made again from the log. Look for a copy or for their source.",
    ),
    _K.LOST_START: (
        "Messages at the beginning of the log are gone, and retention has not deleted them.",
        "They cannot be made again from the log. Look for a copy or for their source.",
    ),
    _K.LOST_PARTITION: (
        "The directory of a partition is gone, with all messages that were in it.",
        "Put a copy of it back. Without it, nobody can write to the partition or read it.",
    ),
    _K.OFFSET_GAP: (
        "Offsets are missing between two messages: messages were lost, or never written.",
        _LOOK_FIRST,
    ),
    _K.OFFSET_OVERLAP: (
        "An offset occurs twice, so it does not say which message is meant.",
        _LOOK_FIRST,
    ),
    _K.OFFSET_DISORDER: (
        "A message has an offset that does not fit between its neighbours.",
        _LOOK_FIRST,
    ),
    _K.NAME_BASE_MISMATCH: (
        "The name of a segment promises another first offset than its first message has.",
        "A search starts in the wrong file then. Find out who renamed the file.",
    ),
    _K.INDEX_POSITION: (
        "An index entry points to a byte where its message does not begin.",
        _RUN_RECOVER,
    ),
    _K.INDEX_ORDER: (
        "The entries of an index do not ascend, or the index ends inside an entry.",
        _RUN_RECOVER,
    ),
    _K.INDEX_PAST_END: ("An index entry points past the end of the log.", _RUN_RECOVER),
    _K.INDEX_SPARSE: (
        "The index lacks an entry, or the whole index is missing. Searches still work, but slowly.",
        _RUN_RECOVER,
    ),
    _K.ORPHAN_FILE: (
        "A file in the directory belongs to no segment. No reader looks at it.",
        "`kminilog recover` removes an index without a log. Move any other file away.",
    ),
    _K.ORPHAN_PARTITION: (
        "A directory holds messages, but it belongs to no topic. No reader looks at them.",
        "Put the settings file of its topic back, or mend it. Or move the directory away.",
    ),
    _K.WRONG_PARTITION: (
        "A message is in another partition than its key belongs to.",
        "Consumers that expect all messages of a key in one partition miss it.",
    ),
    _K.ALTERED: (
        "A message was changed after it was written: its key or its value is another one now.",
        "Where a source is given, both are shown side by side. The source has the right one.",
    ),
    _K.MANIFEST_MISMATCH: (
        "The record that an ingest job left does not fit itself, or does not fit the log.",
        _LOOK_FIRST,
    ),
    _K.MISSING: ("The source has a record that is not in the log.", _AGAIN),
    _K.EXTRA: (
        "The log has a message that the source does not have.",
        "It may come from another source: then `--job` compares only what one job wrote.",
    ),
    _K.DUPLICATE: (
        "The log has a message more often than the source has it.",
        "It may have been stored twice. Consumers read it twice.",
    ),
    _K.KEY_ORDER: (
        "Two messages with one key are in another order than in the source.",
        "Whoever takes the last message of a key takes the wrong one.",
    ),
    _K.MOVED: (
        "A message has another partition or offset than its record in the source says.",
        "So it is after every load by a job. A copy of files has none.",
    ),
}


def meaning(kind: str) -> str:
    """Return what a finding of this class means, in one or two sentences.

    >>> meaning("missing")
    'The source has a record that is not in the log.'
    """
    return _MEANINGS[FindingClass(kind)][0]


def advice(kind: str) -> str:
    """Return what to do about it, or what it leads to.

    >>> advice("index-order")
    'No message is lost: `kminilog recover` builds the index again.'
    """
    return _MEANINGS[FindingClass(kind)][1]
