"""What the samples of an account hold: their records and messages are read once more.

An account knows digests and places, not values. So a report that shows a record beside its message
reads both again, but of samples only. What has changed meanwhile is said, and not shown. Source:
ours.
"""

from collections.abc import Iterable, Sequence

from kminilog.format.names import LOG_SUFFIX, TopicPartition, segment_name
from kminilog.jobs.accounting.account import Sample, StoredPlace
from kminilog.jobs.source.columns import AnyColumns
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.files import SourceFile
from kminilog.jobs.source.reading_again import records_at
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_file import message_at
from kminilog.storage.topics import Topic
from kminilog.verification.both_sides import BothSides, KeyValue, both_sides
from kminilog.verification.findings import FindingClass

SHOWN_KINDS = (FindingClass.MISSING, FindingClass.EXTRA, FindingClass.ALTERED)
_CHANGED = "the log has changed since it was compared"


class ShownSamples:
    """Reads records and messages of samples again."""

    def __init__(
        self,
        log_dir: LogDir,
        topic: Topic,
        source: Source,
        files: Sequence[SourceFile],
        samples: Iterable[Sample],
        columns: AnyColumns | None = None,
    ) -> None:
        """Read the records of `samples`; see `records_at` for `columns`, and for what it costs."""
        self._log_dir = log_dir
        self._topic = topic
        places = [sample.source for sample in samples if sample.source]
        self._records = records_at(source, files, places, columns) if places else {}

    def both_sides(self, sample: Sample) -> BothSides:
        """Return the record and the message of a sample, and why one of them is not shown."""
        record = self._records[sample.source] if sample.source else None
        message = self._message(sample.stored) if sample.stored else None
        reasons = []
        if isinstance(record, str):
            reasons.append(f"the record is not shown: {record}")
            record = None
        if isinstance(message, str):
            reasons.append(f"the message is not shown: {message}")
            message = None
        return both_sides(record, message, "; ".join(reasons) or None)

    def _message(self, stored: StoredPlace) -> KeyValue | str:
        partition = TopicPartition(self._topic.name, stored.partition)
        name = segment_name(stored.segment) + LOG_SUFFIX
        path = self._log_dir.directory(partition) / name
        try:
            found = message_at(self._topic.dialect, path, stored.position)
        except OSError:  # retention has deleted it
            found = None
        if found is None or found.offset != stored.offset:
            return _CHANGED
        return KeyValue(found.key, found.value)
