"""What happened to the lines that were sent; everything that may be in the log is reported.

    acknowledged   it is in the log                            topic, partition, offset
    in doubt       its write failed and could not be undone    the same, and "in_doubt": true
    not written    it is not in the log                        its line number, at the end

As long as all lines are acknowledged, object n of the JSON belongs to line n. From the first other
line on, each object has its "line", too.

`--stats` shows batches, how full they were, records by partition, retries, waits for memory. So
round robin's many small batches and a sticky partitioner's few full ones are seen.
`bufferpool-wait-time` is the sum of all waits for memory, in nanoseconds; `bufferpool-wait-ratio`
is their share of the last 30 seconds. Source: ours; S0 4 and 5, S2 1 (the figures).
"""

from collections import deque
from typing import Any

from kminilog.cli.shared.output import (
    flush,
    is_terminal,
    warn,
    write_line,
    write_record,
    write_table,
)
from kminilog.format.names import TopicPartition
from kminilog.producer.batch import SendFuture
from kminilog.producer.batch_counts import Counts
from kminilog.producer.buffer_pool import WAIT_RATIO, WAIT_SENSOR
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.producer import METRIC_GROUP
from kminilog.producer.record import NO_OFFSET, RecordMetadata
from kminilog.storage.topics import Topic
from kminilog.text import count

_Stretches = dict[TopicPartition, "_Stretch"]


class SentLines:
    """Prints an object for each message at once, or a line for each partition at the end.

    In the order of the lines. Messages are written even if the reader of stdout is gone. Whoever
    types the lines on a terminal sees at once where each message is.
    """

    def __init__(
        self, topic: Topic, *, is_going_on: bool, as_json: bool, is_typed: bool = False
    ) -> None:
        self._topic = topic
        self._is_typed = is_typed and is_terminal()
        self._is_going_on = is_going_on
        self._as_json = as_json
        self._is_read = True
        self._expected: deque[SendFuture] = deque()
        self._line = 0
        self._acknowledged: _Stretches = {}
        self._in_doubt: _Stretches = {}
        self._lost = 0
        self._not_written: list[range] = []

    @property
    def is_all_acknowledged(self) -> bool:
        """Whether, so far, no line was lost and none is in doubt."""
        return not self._lost and not self._in_doubt

    @property
    def waiting_count(self) -> int:
        """Number of lines whose result is not known, or not printed yet."""
        return len(self._expected)

    def expect(self, future: SendFuture) -> None:
        """Take the future of the next line."""
        self._expected.append(future)

    def add_done(self) -> None:
        """Note the lines whose result is known, in their order.

        Raises the error of the first line that failed, unless failures are only counted.
        """
        while self._expected and self._expected[0].done():
            was_complete = self.is_all_acknowledged
            error = self._add_next()
            if error and not self._is_going_on:
                raise error
            if error and was_complete:
                warn(str(error))
        self._flush()

    def close(self, *, is_complete: bool) -> None:
        """Print what there is to say at the end; the producer must be closed."""
        self._add_rest()
        if self._as_json:
            if self._lost and self._is_going_on:
                warn(f"{self._topic.name}: {count(self._lost, 'message')} lost")
        else:
            for partition, stretch in sorted(self._acknowledged.items()):
                write_line(f"{partition}: {stretch}")
            for partition, stretch in sorted(self._in_doubt.items()):
                write_line(f"{partition}: in doubt: {stretch}")
            if self._lost and self._is_going_on:
                write_line(f"{self._topic.name}: {count(self._lost, 'message')} lost")
            elif is_complete and not self._acknowledged and not self._in_doubt:
                write_line(f"{self._topic.name}: no messages")
        self._flush()

    def after_failure(self) -> str:
        """Return which lines are where, and which to send again; the producer must be closed."""
        self._add_rest()
        parts = []
        is_told = any(stretch.is_known for stretch in self._acknowledged.values())
        for what, stretches in (
            ("acknowledged" if is_told else "sent", self._acknowledged),
            ("in doubt", self._in_doubt),
        ):
            if stretches:
                places = ", ".join(f"{place} {it}" for place, it in sorted(stretches.items()))
                parts.append(f"{what}: {places}")
        *runs, rest = _append(self._not_written, self._line + 1)
        lines = ", ".join([*map(_shown, runs), f"all from line {rest.start} on"])
        return "; ".join([*parts, f"not written: {lines}"])

    # ---- one line

    def _add_rest(self) -> None:
        while self._expected and self._expected[0].done():
            self._add_next()

    def _add_next(self) -> BaseException | None:
        """Note the result of the first waiting line, and return its error."""
        future = self._expected.popleft()
        self._line += 1
        error = future.exception(timeout=0)
        if error is None:
            self._add(self._acknowledged, future.result())
        elif future.in_doubt:
            self._add(self._in_doubt, future.in_doubt, in_doubt=True)
        else:
            self._lost += 1
            if not self._is_going_on:  # who goes on only counts, maybe for a long time
                self._not_written = _append(self._not_written, self._line)
        return error

    def _add(self, stretches: _Stretches, place: RecordMetadata, **more: bool) -> None:
        partition = TopicPartition(place.topic, place.partition)
        stretches.setdefault(partition, _Stretch(place.offset)).add(place.offset)
        if self._as_json and self._is_read:
            line = {} if self.is_all_acknowledged else {"line": self._line}
            try:
                write_record({**place._asdict(), **more, **line})
            except BrokenPipeError:
                self._is_read = False
        elif self._is_typed:
            offset = "not waited for" if place.offset == NO_OFFSET else f"offset {place.offset}"
            write_line(f"{partition} {offset}{' in doubt' if more else ''}")

    # ---- on stdout

    def _flush(self) -> None:
        try:
            if self._is_typed or (self._as_json and self._is_read):
                flush()
        except BrokenPipeError:
            self._is_read = False


class _Stretch:
    """Messages of one partition, in the order of their offsets."""

    def __init__(self, first_offset: int) -> None:
        self._first_offset = first_offset
        self._number = 0

    def add(self, offset: int) -> None:
        self._last_offset = offset
        self._number += 1

    @property
    def is_known(self) -> bool:
        """Whether the offsets are known: with acks 0 nobody tells them."""
        return self._first_offset != NO_OFFSET

    def __str__(self) -> str:
        offsets = f"offsets {self._first_offset}..{self._last_offset}"
        return (
            f"{offsets if self.is_known else 'not waited for'} ({count(self._number, 'message')})"
        )


def _append(runs: list[range], number: int) -> list[range]:
    """Return runs of line numbers with one more, which is above all others."""
    if runs and runs[-1].stop == number:
        return [*runs[:-1], range(runs[-1].start, number + 1)]
    return [*runs, range(number, number + 1)]


def _shown(run: range) -> str:
    return f"line {run[0]}" if len(run) == 1 else f"lines {run[0]}..{run[-1]}"


# ---- figures


def write_stats(producer: ManualProducer, topic: Topic, *, as_json: bool) -> None:
    """Write what a producer, which is closed, has measured while it sent to one topic."""
    counts = producer.batch_counts
    total = counts.total()
    by_partition = {place: counts.of(place) for place in topic.all_partitions()}
    retries = producer.report.retries
    wait_ns = producer.metrics.sensor(WAIT_SENSOR).total_ns
    ratio = producer.metrics.value(WAIT_RATIO, METRIC_GROUP)
    if as_json:
        fields = {
            **_fields(total),
            "retries": retries,
            "bufferpool_wait_time_ns": wait_ns,
            "bufferpool_wait_ratio": ratio,
            "partitions": [
                {"partition": place.partition, **_fields(found)}
                for place, found in by_partition.items()
            ],
        }
        write_record({"stats": fields})
        return
    rows = [_row(str(place), found) for place, found in by_partition.items()]
    write_table(["partition", "batches", "records", "mean fill"], [*rows, _row("all", total)])
    write_line(f"retries: {retries}")
    write_line(f"{WAIT_SENSOR}: {wait_ns} ns")
    write_line(f"{WAIT_RATIO}: {ratio:.6f}")


def _fields(counts: Counts) -> dict[str, Any]:
    return {
        "batches": counts.batches,
        "records": counts.records,
        "mean_fill": counts.mean_fill,
    }


def _row(name: str, counts: Counts) -> list[Any]:
    fill = counts.mean_fill
    shown = "-" if fill is None else f"{fill:.1%}"
    return [name, counts.batches, counts.records, shown]
