"""What became of the lines that `produce` has sent, told in their order.

Source: ours (cli.md).
"""

from collections import deque
from typing import Any

from kminilog.cli.output import count, flush, warn, write_line, write_record
from kminilog.format.names import TopicPartition
from kminilog.producer.batch import SendFuture
from kminilog.storage.topics import Topic


class Report:
    """Prints an object for each message at once, or a line for each partition at the end.

    In the order of the lines. Messages are written even if nobody reads about it any more.
    """

    def __init__(self, topic: Topic, *, is_going_on: bool, as_json: bool) -> None:
        self.lost = 0
        self._topic = topic
        self._is_going_on = is_going_on
        self._as_json = as_json
        self._is_read = True
        self._expected: deque[SendFuture] = deque()
        self._ranges: dict[TopicPartition, tuple[int, int, int]] = {}

    @property
    def waiting_count(self) -> int:
        """Of how many lines it is not known, or not printed, what became of them."""
        return len(self._expected)

    def expect(self, future: SendFuture) -> None:
        """Take what will say where the next line went."""
        self._expected.append(future)

    def add_done(self) -> None:
        """Take note of the lines, in their order, of which it is known what became of them.

        Raises what the first one was told that could not be written, unless that is only counted.
        """
        while self._expected and self._expected[0].done():
            future = self._expected.popleft()
            error = future.exception()
            if error is None:
                self._add(*future.result())
                continue
            if not self._is_going_on:
                raise error
            if not self.lost:
                warn(str(error))
            self.lost += 1
        if self._as_json and self._is_read:
            self._flush()

    def _add(self, topic: str, partition: int, offset: int) -> None:
        place = TopicPartition(topic, partition)
        first_offset, _, number = self._ranges.get(place, (offset, 0, 0))
        self._ranges[place] = first_offset, offset, number + 1
        if self._as_json and self._is_read:
            self._write({**place._asdict(), "offset": offset})

    def close(self, *, is_complete: bool) -> None:
        """Print what there is to say at the end, which an error may have brought about."""
        if self._as_json:
            if self.lost:
                warn(f"{self._topic.name}: {count(self.lost, 'message')} lost")
            return
        for partition, (first, last, number) in sorted(self._ranges.items()):
            offsets = f"offsets {first}..{last}" if first >= 0 else "not waited for"
            write_line(f"{partition}: {offsets} ({count(number, 'message')})")
        if self.lost:
            write_line(f"{self._topic.name}: {count(self.lost, 'message')} lost")
        elif is_complete and not self._ranges:
            write_line(f"{self._topic.name}: no messages")

    def _write(self, record: dict[str, Any]) -> None:
        try:
            write_record(record)
        except BrokenPipeError:
            self._is_read = False

    def _flush(self) -> None:
        try:
            flush()
        except BrokenPipeError:
            self._is_read = False
