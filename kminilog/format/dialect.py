"""The two dialects, and the three things in which they differ.

                                     documented                    kafka
    after the key                    the payload, to the end       a 4-byte value length, the value
    name of a segment                0, then the last offset of    its own first offset
                                     the segment before
    which segment holds offset o     greatest name <  o            greatest name <= o
                                     (offset 0: segment 0)

The first two are fields of `Dialect`. The third follows from the second (`lookup.segment_slot`).
A topic has exactly one dialect; creating the topic writes it into the settings file. All other
modules ask a `Dialect` object and never compare the names of dialects. In the documented dialect, a
base offset is the number in the name, not the first offset.
Source: S1 5.2 and 5.3 (docs/sources.md) against Kafka 0.8.2 (Message, LogSegment, Log.read).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """How one topic writes its messages and names its segments."""

    name: str
    has_value_length: bool
    named_by_previous: bool

    @property
    def overhead_bytes(self) -> int:
        """How many bytes the size field counts in addition to key and value.

        The crc has 4, magic and attributes 1 each, the key length 4, and a value length 4 more.
        """
        return 14 if self.has_value_length else 10

    @property
    def is_kafkas(self) -> bool:
        """Whether Kafka reads and writes such files: a broker may have written them.

        >>> DOCUMENTED.is_kafkas, KAFKA.is_kafkas
        (False, True)
        """
        return self.has_value_length and not self.named_by_previous

    def base_offset_for(self, next_offset: int) -> int:
        """Return the base offset of a segment whose first message will have `next_offset`.

        >>> DOCUMENTED.base_offset_for(368770), KAFKA.base_offset_for(368770)
        (368769, 368770)
        >>> DOCUMENTED.base_offset_for(0)
        0
        """
        return max(next_offset - 1, 0) if self.named_by_previous else next_offset

    def first_offset(self, base_offset: int) -> int:
        """Return the offset of the first message of the segment named `base_offset`.

        >>> DOCUMENTED.first_offset(368769), KAFKA.first_offset(368769)
        (368770, 368769)
        >>> DOCUMENTED.first_offset(0)
        0
        """
        return base_offset + 1 if self.named_by_previous and base_offset else base_offset

    def can_follow(self, base_offset: int, next_offset: int) -> bool:
        """Tell if a segment that begins with `next_offset` gets a greater name than `base_offset`.

        False if segment `base_offset` is empty; and in the documented dialect if segment 0 holds
        only offset 0: the next segment would be named 0, too.

        >>> DOCUMENTED.can_follow(0, 1), DOCUMENTED.can_follow(0, 2), KAFKA.can_follow(0, 1)
        (False, True, True)
        >>> DOCUMENTED.can_follow(5, 6), KAFKA.can_follow(5, 5)
        (False, False)
        """
        return self.base_offset_for(next_offset) > base_offset


DOCUMENTED = Dialect("documented", has_value_length=False, named_by_previous=True)
KAFKA = Dialect("kafka", has_value_length=True, named_by_previous=False)
DIALECTS = {dialect.name: dialect for dialect in (DOCUMENTED, KAFKA)}
