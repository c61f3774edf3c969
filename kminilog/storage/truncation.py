"""Cutting the end off a partition: which segments go, and where the last one that stays is cut.

A follower does this to messages that its leader does not have. What is left is what the messages
that stay would have made by themselves: a segment whose first message goes, goes as a whole, unless
it is the first one. Files go from the end backwards, each on the disk before the next, so whatever
a crash leaves is a log that ends a little later than asked, perhaps with an index that recovery
rebuilds. This module does not know why anything is cut. Source: Kafka: Log.truncateTo. Differs:
Kafka keeps an empty segment where a cut falls on its beginning.
"""

from kminilog.storage.durable_file import sync
from kminilog.storage.segment import Segment


def cut_off(segments: list[Segment], offset: int) -> list[Segment]:
    """Cut off all messages from `offset` on, and return the segments whose files are gone.

    `segments` are those of a partition, ascending; `offset` is not below the first message. Once it
    returns, the cut survives a power failure. Modification times stay. Raises CorruptLogError, with
    nothing changed, if damage is in the way.
    """
    gone = [segment for segment in segments[1:] if segment.first_offset >= offset]
    last = segments[-len(gone) - 1]
    last.open()
    located = last.locate(offset, following_offset=gone[0].first_offset if gone else None)
    for segment in reversed(gone):
        segment.remove()
        sync(segment.log_path.parent)
    if located:
        entries = last.index.entries()
        kept = sum(entry.position < located.position for entry in entries)
        last.truncate_to(located.position, kept)
        last.flush()
    return gone
