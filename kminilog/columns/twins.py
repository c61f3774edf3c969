"""What reads whole segments: the fast twin if what it needs is installed.

It needs numpy and pyarrow, which `pip install 'kminilog[bulk]'` brings. Without these packages,
the plain twin gives the same answers, more slowly. Nothing is loaded before it is asked for.
Source: ours.
"""

from kminilog.storage.segment.scan import PLAIN, SegmentScanner


def segment_scanner() -> SegmentScanner:
    """Return the functions that read a segment."""
    try:
        from kminilog.columns.segment_scan import FAST
    except ModuleNotFoundError:
        return PLAIN
    return FAST
