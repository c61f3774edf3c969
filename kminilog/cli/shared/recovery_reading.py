"""Opening a log dir for writing: after a crash it is read fast, and progress is shown.

Nothing is loaded and nothing is shown before a segment has to be read: numpy takes longer to load
than most commands take to run. Source: ours.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kminilog.cli.shared.interrupts import interruptible_call
from kminilog.cli.shared.progress import working_if_long
from kminilog.columns.twins import segment_scanner
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.segment.scan import SegmentScan, SegmentScanner
from kminilog.storage.segment.segment import Segment
from kminilog.storage.segment.whole_messages import WholeMessages


def open_writer(log_dir: Path, *, create: bool = False, recover: bool = True) -> LogDirWriter:
    """Open a log dir as `LogDirWriter.open` does; raises as it does."""
    with recovery_reading("Recovering") as scanner:
        return LogDirWriter.open(log_dir, create=create, recover=recover, scanner=scanner)


@contextmanager
def recovery_reading(title: str) -> Iterator[SegmentScanner]:
    """Yield the functions that read segments; inside the block they show the present segment."""
    with working_if_long(title) as at:
        yield shown_scanner(at)


def shown_scanner(at: Callable[[str], None]) -> SegmentScanner:
    """Return the functions that read segments; they tell `at` which one."""

    def scan_fast(segment: Segment) -> SegmentScan:
        at(f"reading {_name(segment)}")
        return segment_scanner().scan_segment(segment)

    def count_whole_fast(segment: Segment, position: int) -> WholeMessages:
        at(f"counting what is whole after damage in {_name(segment)}")
        return segment_scanner().count_whole_messages(segment, position)

    return SegmentScanner(interruptible_call(scan_fast), interruptible_call(count_whole_fast))


def _name(segment: Segment) -> str:
    return f"{segment.log_path.parent.name}, segment {segment.name}"
