"""A line of Python's logging for each record: the partition that was chosen for it.

    Assigning message of topic orders and key alice to a selected partition 1

The logger is `kminilog.producer`, the level DEBUG. A program that wants the lines sets it up:

    logging.basicConfig()
    logging.getLogger("kminilog.producer").setLevel(logging.DEBUG)

Source: S4, whose line this is; Kafka 0.8: DefaultEventHandler.getPartition. Differs: the line comes
after the switch to another partition, and for records that name their partition, too.
"""

import logging

from kminilog.producer.record import ProducerRecord

LOGGER = logging.getLogger("kminilog.producer")
_LINE = "Assigning message of topic %s and key %s to a selected partition %d"


def log_choice(record: ProducerRecord, partition: int) -> None:
    """Log the partition of a record."""
    if LOGGER.isEnabledFor(logging.DEBUG):
        key = "[none]" if record.key is None else _shown(record.key)
        LOGGER.debug(_LINE, record.topic, key, partition)


def _shown(key: object) -> str:
    """Return a key as text; of bytes, those that are not UTF-8 are escaped."""
    return key.decode(errors="backslashreplace") if isinstance(key, bytes) else str(key)
