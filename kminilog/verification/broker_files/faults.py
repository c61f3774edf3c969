"""The table of what can be wrong in the log directory of a Kafka broker, in Kafka's words.

It has the form of `verification.findings.FindingClass`, so text, page, JUnit and findings file show
it as they show that one. What a broker's files have in common with a log dir of kminilog has the
same name in both. This module neither makes findings nor judges them.
Source: Kafka: DumpLogSegments, LogSegment, LogValidator, ProducerAppendInfo; the verdicts are ours.
"""

from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.verification.findings import Aspect, Effect, FindingKind

TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"

_DAMAGED = (
    "A consumer stops there, and so does a follower. A broker that starts after a crash may cut "
    "the log there. Look for a replica that is whole."
)
_REPLICA = "This log cannot restore them. Look for a replica, or for their source."
_ASK = "Find out what wrote these files before you use them."
_WRITER = "A broker refuses such a batch. " + _ASK
_REBUILT = (
    "No record is lost: the broker builds the index again if you remove it while it is down. Do "
    "not remove it beside a damaged log: the broker would cut that."
)


class BrokerFault(FindingKind):
    """The kinds of faults in a broker's files: the one table of them.

    >>> BrokerFault("time-index-entry").severity, BrokerFault.TORN_TAIL.aspect
    ('warning', <Aspect.MESSAGES: 'messages'>)
    """

    BAD_CRC = (
        "bad-crc",
        "The bytes of a batch have changed: its checksum does not match.",
        _DAMAGED,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    BAD_LENGTH = (
        "bad-length",
        "The length of a batch is impossible, so its end is unknown.",
        _DAMAGED,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    BAD_MAGIC = (
        "bad-magic",
        "A batch has a format that does not exist.",
        _DAMAGED,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    TORN_TAIL = (
        "torn-tail",
        "The last batch is not complete, as after a crash in the middle of a write.",
        "The broker cuts it off when it starts, and fetches it from the leader if it can.",
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    ZERO_TAIL = (
        "zero-tail",
        "The log ends with zeros: space for it was allocated before (`preallocate`), or lost.",
        "The broker cuts them off when it starts. Only a checkpoint or an index tells if records "
        "were there.",
        *("warning", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.NOTHING),
    )
    BAD_RECORD_COUNT = (
        "bad-record-count",
        "A batch has more records than it has offsets.",
        _WRITER,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.DISORDER),
    )
    BAD_RECORD = (
        "bad-record",
        "The checksum of a batch is right, but a record in it cannot be read, or is out of order.",
        _WRITER,
        *("error", LOG_SUFFIX, "dump", Aspect.RECORDS, Effect.LOSS),
    )
    BAD_MAX_TIMESTAMP = (
        "bad-max-timestamp",
        "The greatest timestamp of a batch is not that of any of its records.",
        "A search by time may miss its records, and retention may keep them too long.",
        *("error", LOG_SUFFIX, "dump", Aspect.RECORDS, Effect.NOTHING),
    )
    OFFSET_GAP = (
        "offset-gap",
        "Offsets are missing, and neither compaction nor retention nor another leader explains it.",
        _REPLICA,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    TRUNCATED = (
        "truncated",
        "Offsets are missing just before the first batch of another leader.",
        "An election of an unclean leader loses them. " + _REPLICA,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.LOSS),
    )
    OFFSET_OVERLAP = (
        "offset-overlap",
        "A batch holds offsets that batches before it hold, too: it is there twice, or damaged.",
        "A consumer skips offsets that it has read. " + _ASK,
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.DISORDER),
    )
    OFFSET_DISORDER = (
        "offset-disorder",
        "A batch has an offset that does not fit between its neighbours.",
        "The checksum does not cover the base offset, so a damage of it shows only here.",
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.DISORDER),
    )
    LOST_START = (
        "lost-start",
        "The small files say that the log begins earlier than its first segment.",
        "If they are not in remote storage: " + _REPLICA[0].lower() + _REPLICA[1:],
        *("error", LOG_SUFFIX, "verify", Aspect.LOG_STARTS, Effect.LOSS),
    )
    LOST_END = (
        "lost-end",
        "The small files say that the log went further than its last batch.",
        _REPLICA,
        *("error", LOG_SUFFIX, "verify", Aspect.LOG_ENDS, Effect.LOSS),
    )
    NAME_BASE_MISMATCH = (
        "name-base-mismatch",
        "The first batch of a segment has an offset below the one in the name of the file.",
        "A search starts in the wrong file then. Find out who renamed the file.",
        *("error", LOG_SUFFIX, "dump", Aspect.MESSAGES, Effect.NOTHING),
    )
    LEADER_EPOCH = (
        "leader-epoch",
        "The leader epoch of a batch is lower than one before it, or not the one on record.",
        "The checksum does not cover it. A follower with it may truncate at the wrong offset.",
        *("error", LOG_SUFFIX, "dump", Aspect.LEADER_EPOCHS, Effect.NOTHING),
    )
    BAD_CHECKPOINT = (
        "bad-checkpoint",
        "A small file beside the segments cannot be read, or its rows do not ascend.",
        "The broker makes most of them again when it starts; until then, remove none.",
        *("error", LOG_SUFFIX, "verify", Aspect.LOG_ENDS, Effect.NOTHING),
    )
    SEQUENCE_GAP = (
        "sequence-gap",
        "The log lacks records of an idempotent producer, but has later ones of it.",
        "A broker answers OutOfOrderSequenceException. " + _REPLICA,
        *("error", LOG_SUFFIX, "dump", Aspect.PRODUCERS, Effect.LOSS),
    )
    DUPLICATE_SEQUENCE = (
        "duplicate-sequence",
        "A batch of an idempotent producer is in the log twice, under two offsets.",
        "Consumers read it twice. A broker answers DuplicateSequenceException.",
        *("error", LOG_SUFFIX, "dump", Aspect.PRODUCERS, Effect.ADDITION),
    )
    PRODUCER_EPOCH = (
        "producer-epoch",
        "A producer writes with an older epoch than one before it: it was fenced, and wrote.",
        "A broker answers InvalidProducerEpochException. " + _WRITER,
        *("error", LOG_SUFFIX, "dump", Aspect.PRODUCERS, Effect.NOTHING),
    )
    OPEN_TRANSACTION = (
        "open-transaction",
        "A transaction has neither a COMMIT nor an ABORT. The last stable offset stays before it.",
        "It may be at work. If it stays open, `kafka-transactions.sh abort` ends it.",
        *("warning", LOG_SUFFIX, "dump", Aspect.PRODUCERS, Effect.NOTHING),
    )
    INDEX_ORDER = (
        "index-order",
        "The entries of an index do not ascend, or the index ends inside an entry.",
        _REBUILT,
        *("warning", INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    INDEX_POSITION = (
        "index-position",
        "An index entry points to a byte where no batch begins.",
        _REBUILT,
        *("warning", INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    INDEX_OFFSET = (
        "index-offset",
        "An index entry has an offset that the batch where it points does not have.",
        _REBUILT,
        *("warning", INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    INDEX_PAST_END = (
        "index-past-end",
        "An index entry points past the end of the log.",
        "If the index is right, the end of the log is lost. Else "
        + _REBUILT[0].lower()
        + _REBUILT[1:],
        *("warning", INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    INDEX_SPARSE = (
        "index-sparse",
        "The index lacks entries, or the whole index is missing. Searches still work, but slowly.",
        _REBUILT,
        *("warning", INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    TIME_INDEX_ORDER = (
        "time-index-order",
        "The entries of a time index do not ascend, or it ends inside an entry.",
        _REBUILT,
        *("warning", TIME_INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    TIME_INDEX_ENTRY = (
        "time-index-entry",
        "The timestamp of a time index entry is not the greatest so far, or not of that offset.",
        "A search by time may miss records. " + _REBUILT,
        *("warning", TIME_INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    TIME_INDEX_SPARSE = (
        "time-index-sparse",
        "The time index lacks entries, or the whole file is missing.",
        _REBUILT,
        *("warning", TIME_INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    TRANSACTION_INDEX_ENTRY = (
        "transaction-index-entry",
        "An entry of the transaction index does not fit the markers in the log.",
        "A consumer of committed records may leave out records that count.",
        *("error", TRANSACTION_INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    TRANSACTION_INDEX_SPARSE = (
        "transaction-index-sparse",
        "An aborted transaction has no entry in the transaction index.",
        "A consumer of committed records reads records that were aborted.",
        *("error", TRANSACTION_INDEX_SUFFIX, "dump", Aspect.INDEXES, Effect.NOTHING),
    )
    ORPHAN_FILE = (
        "orphan-file",
        "An index or a snapshot has no segment, or a file is not one of Kafka's.",
        "The broker ignores or removes it. A lost `.log` leaves its index so.",
        *("warning", LOG_SUFFIX, "verify", Aspect.MESSAGES, Effect.NOTHING),
    )
