"""kminilog: a Kafka-like log store, and Kafka's partitioning, to read and to step through.

    from kminilog import LogDirWriter, Topic

The names below are the public ones; `docs/architecture.md` is the map of all the rooms. Importing
the package loads neither Spark nor numpy.
"""

from kminilog.errors import KMiniLogError
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.hashing import murmur2, to_positive
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir import LogDir, LogDirWriter
from kminilog.storage.topics import Topic

__version__ = "0.1.0"
__all__ = [
    "DOCUMENTED",
    "KAFKA",
    "KMiniLogError",
    "LogDir",
    "LogDirWriter",
    "Message",
    "Topic",
    "TopicPartition",
    "TopicSettings",
    "murmur2",
    "to_positive",
]
