"""The files in the directory where the command of an exercise runs.

    lines.txt        twenty lines, "k0:value 0" and so on
    kminilog-data    a log dir with the topics `orders`, documented, and `views`, in Kafka's dialect

`empty`: the topics have no messages. `sound`: each partition has 30. `crashed`: as `sound`, but the
last segment of orders-0 has a torn tail and has lost its index, another index there has no log, and
nobody has shut down cleanly.
Source: ours.
"""

from pathlib import Path

from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.names import segment_name
from kminilog.settings import TopicSettings
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.topics import Topic

LOG_DIR = "kminilog-data"
LINES = "".join(f"k{number % 3}:value {number}\n" for number in range(20))
_SETTINGS = TopicSettings(segment_bytes=200, index_interval_bytes=60)
_MESSAGES = [(b"k%d" % (number % 7), b"value %d" % number) for number in range(30)]


def write_scenery(directory: Path, log: str) -> None:
    """Write it into an empty directory; `log` is one of the three above. Deterministic."""
    (directory / "lines.txt").write_text(LINES)
    log_dir = directory / LOG_DIR
    with LogDirWriter.open(log_dir, create=True) as writer:
        for name, dialect in (("orders", DOCUMENTED), ("views", KAFKA)):
            topic = Topic(name, 3, dialect, _SETTINGS)
            writer.create_topic(topic)
            for partition in topic.all_partitions():
                messages = [] if log == "empty" else _MESSAGES
                writer.log(partition).append(messages)
    if log == "crashed":
        last = max((log_dir / "orders-0").glob("*.log"))
        last.write_bytes(last.read_bytes() + bytes(5))
        last.with_suffix(".index").unlink()
        (last.parent / f"{segment_name(99)}.index").touch()
        (log_dir / ".clean-shutdown").unlink()
