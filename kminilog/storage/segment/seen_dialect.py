"""Which dialect a `.log` has, seen in its bytes: for a file without its topic.

    kafka        after the key | 00 00 00 05 | h e l l o |    a length, which is the exact rest
    documented   after the key | h e l l o               |    the payload, whatever it begins with

In the kafka dialect this holds for every message. So one whole message without it decides: the file
is documented. The other way round nothing is certain, since a payload may begin with a length of
its own, and a payload of four bytes may be 0 or -1. So few messages do not decide. What else is
known is the name: the first offset is its number in the kafka dialect, and one more in the other.

The result is *clear*, or a user has to decide. A documented file whose every payload begins with
its length has, under the name 0, the very bytes of a kafka one: it is taken for one.
Source: ours.
"""

from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kminilog.format.dialect import DOCUMENTED, KAFKA, Dialect
from kminilog.format.message import MAGIC, Message
from kminilog.format.names import parse_segment_file
from kminilog.storage.segment.log_file import message_at
from kminilog.storage.segment.whole_messages import whole_messages

ENOUGH = 3  # so many messages with a value decide; one may look like the other dialect by chance
LOOKED_AT = 1000  # a later message of the other dialect is read as damage, so nobody misses it


class SeenDialect(NamedTuple):
    """A dialect, whether it is clear, and what was seen, in words."""

    dialect: Dialect
    is_clear: bool
    seen: str


def seen_dialect(path: Path, default: Dialect = DOCUMENTED) -> SeenDialect:
    """Return which dialect a `.log` has; `default` if no whole message of format 0 is in it.

    It looks at the first LOOKED_AT whole messages. Raises OSError.
    """
    found = list(islice(whole_messages(path), LOOKED_AT))
    plain = [(at, message) for at, message in found if message.magic == MAGIC]
    if not plain:
        return SeenDialect(default, False, "no whole message of format v0 is in it")
    as_kafka = [read for at, _ in plain if (read := message_at(KAFKA, path, at))]
    with_value = sum(bool(read.value) for read in as_kafka)
    fitting, count = len(as_kafka), len(plain)
    dialect = KAFKA if fitting == count else DOCUMENTED
    is_clear = fitting == 0 or (fitting == count and with_value >= ENOUGH)
    first = "the first " if len(found) == LOOKED_AT else ""
    seen = f"a value length stands after the key in {fitting} of {first}{count:,} messages"
    by_name = _by_name(path, *plain[0])
    if by_name:
        is_clear = by_name is dialect
        seen += f"; its name says {by_name.name}"
    return SeenDialect(dialect, is_clear, seen)


def _by_name(path: Path, position: int, first: Message) -> Dialect | None:
    """Return the dialect in which a file with this first message has this name; None if in both.

    None, too, if in neither: then it has the name by other means. A compressed message has the
    offset of the last one inside.
    """
    base_offset, _ = parse_segment_file(path.name) or (0, "")
    if not base_offset or position or first.is_compressed:
        return None
    for dialect in (DOCUMENTED, KAFKA):
        if dialect.first_offset(base_offset) == first.offset:
            return dialect
    return None
