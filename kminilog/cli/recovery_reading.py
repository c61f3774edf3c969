"""Opening a log dir for writing: after a crash it is read fast, and progress is shown.

Nothing is loaded and nothing is shown before a segment has to be read: numpy takes longer to load
than most commands take to run. Source: ours.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kminilog.cli.interrupts import interruptible_call
from kminilog.cli.progress import working_if_long
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.segment import Segment
from kminilog.storage.segment_scan import Examined, SegmentScans, WholeMessages


def open_writer(log_dir: Path, *, create: bool = False, recover: bool = True) -> LogDirWriter:
    """Open a log dir as `LogDirWriter.open` does; raises as it does."""
    with recovery_reading("Recovering") as scans:
        return LogDirWriter.open(log_dir, create=create, recover=recover, scans=scans)


@contextmanager
def recovery_reading(title: str) -> Iterator[SegmentScans]:
    """Yield the functions that read segments; inside the block they show the present segment."""
    with working_if_long(title) as at:
        yield shown_scans(at)


def shown_scans(at: Callable[[str], None]) -> SegmentScans:
    """Return the functions that read segments; they tell `at` which one."""

    def examine_fast(segment: Segment) -> Examined:
        from kminilog.bulk.segment_scan import examine

        at(f"reading {_name(segment)}")
        return examine(segment)

    def count_whole_fast(segment: Segment, position: int) -> WholeMessages:
        from kminilog.bulk.segment_scan import count_whole_messages

        at(f"counting what is whole behind damage in {_name(segment)}")
        return count_whole_messages(segment, position)

    return SegmentScans(interruptible_call(examine_fast), interruptible_call(count_whole_fast))


def _name(segment: Segment) -> str:
    return f"{segment.log_path.parent.name}, segment {segment.name}"
