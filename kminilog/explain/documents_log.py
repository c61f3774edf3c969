"""The log of the documents' example: three segments, and the message with offset 368776.

    00000000000000000000    offsets 0 to 368769
    00000000000000368769    offsets 368770 to 737337; index entries 3,497 and 6,1407 and 8,1686
    00000000000000737337    offset 737338 and a few more

S1 5.2 and 5.3 search offset 368776 here. A log with these names needs as many messages. The third
message of the second file begins at byte 497, the sixth at byte 1407, as in the documents' figure
and in `step sparse-index`. Differs: the figure has an entry `1,0`, which no rule of Kafka's gives.
"""

from pathlib import Path

from kminilog.format.dialect import DOCUMENTED
from kminilog.format.message import encoded_bytes
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.topics import Topic

TOPIC = "documents"
OFFSET = 368776
FIRST_SIZES = (248, 249, 103, 100, 707, 93, 186, 120)
LATER_BYTES = 40
INTERVAL_BYTES = 248  # entries at 497, 1407 and 1686; none at 248, which is not more
_FIRST_NAME, _SECOND_NAME = 368769, 737337
_FEW = 8


def message_sizes(message_count: int) -> list[int]:
    """Return the size of each message, in bytes.

    >>> message_sizes(9)
    [248, 249, 103, 100, 707, 93, 186, 120, 40]
    """
    later = max(message_count - len(FIRST_SIZES), 0)
    return [*FIRST_SIZES[:message_count], *[LATER_BYTES] * later]


def write_documents_log(log_dir: Path) -> TopicPartition:
    """Write the topic `documents` into a log dir, and return its one partition.

    It takes two or three seconds, and 30 MB. Raises TopicExistsError if the topic is there.
    """
    lengths = [LATER_BYTES] * (_FIRST_NAME + 1)
    second = message_sizes(_SECOND_NAME - _FIRST_NAME)
    second[-1] += 10_000  # the first segment has more messages, and no more bytes
    segment_bytes = sum(second)
    lengths[0] += segment_bytes - sum(lengths)  # the first segment is as full as the second
    settings = TopicSettings(segment_bytes=segment_bytes, index_interval_bytes=INTERVAL_BYTES)
    partition = TopicPartition(TOPIC, 0)
    with LogDirWriter.open(log_dir, create=True) as writer:
        writer.create_topic(Topic(TOPIC, dialect=DOCUMENTED, settings=settings))
        overhead_bytes = encoded_bytes(DOCUMENTED, None, b"")
        writer.log(partition).append(
            [
                (None, f"message {offset:06d}".ljust(length - overhead_bytes, ".").encode())
                for offset, length in enumerate([*lengths, *second, *[LATER_BYTES] * _FEW])
            ]
        )
    return partition
