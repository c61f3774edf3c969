"""`step journey`: one source line, from a file of lines to a committed offset.

    line -> key, value -> interceptor -> serialiser -> partition -> batch -> .log -> .index
         -> find by its offset -> a group's consumer -> committed offset

`travel` sends the line through the real engine and keeps what each part made of it; this module
tells it. Source: S0 7, S1, S2; docs/life-of-a-message.md has the functions at each stop.
"""

from kminilog.clock import Chance
from kminilog.course.steps.consumer.travel import send_through, split_line
from kminilog.course.steps.consumer.way_down import (
    add_line,
    tell_batch,
    tell_client,
    tell_index,
    tell_partition,
    tell_segment,
)
from kminilog.course.steps.consumer.way_up import tell_consumer, tell_search
from kminilog.course.steps.document import Document
from kminilog.course.steps.recording import Recording
from kminilog.format.dialect import DOCUMENTED, Dialect

LINE = b"customer-20:two teapots"
MOST_BYTES = 1 << 14  # it is shown three times: as a line, in its batch and in the log


def document(
    line: bytes = LINE,
    *,
    chance: Chance,
    partitions: int = 3,
    dialect: Dialect = DOCUMENTED,
    separator: bytes = b":",
) -> Document:
    """Return the step-through of a line; its last state says where it is, and what was committed.

    Raises ValueError for an empty separator, an impossible number of partitions, and a line that
    is too long to be shown.
    """
    if len(line) > MOST_BYTES:
        raise ValueError(f"a line of {len(line)} bytes; a step-through shows {MOST_BYTES} at most")
    split = split_line(line, separator)
    recording = Recording("journey", "A line, from its source to a committed offset")
    add_line(recording, split)
    travel = send_through(split, dialect, partitions, chance)
    tell_client(recording, travel)
    tell_partition(recording, travel, partitions)
    tell_batch(recording, travel)
    tell_segment(recording, travel, dialect)
    tell_index(recording, travel)
    tell_search(recording, travel)
    tell_consumer(recording, travel)
    return recording.document()
