"""What checks and reads whole segments: the fast twins if what they need is installed.

They need numpy and pyarrow, which `pip install 'kminilog[bulk]'` brings. Without these packages,
the plain twins give the same answers, more slowly. Nothing is loaded before it is asked for.
Source: ours.
"""

from typing import TYPE_CHECKING

from kminilog.storage.segment_scan import PLAIN, SegmentScanner

if TYPE_CHECKING:
    from kminilog.verification.summaries import CheckSegment


def segment_check() -> "CheckSegment":
    """Return the function that checks a segment."""
    try:
        from kminilog.columns.segment_checks import check_segment as fast
    except ModuleNotFoundError:
        from kminilog.verification.segment_checks import check_segment as plain

        return plain
    return fast


def segment_scanner() -> SegmentScanner:
    """Return the functions that read a segment."""
    try:
        from kminilog.columns.segment_scan import FAST
    except ModuleNotFoundError:
        return PLAIN
    return FAST
