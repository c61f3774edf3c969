"""`consume --streams N`: N threads, each a member of the group that reads its share.

    stream 0, its fetcher  -->  thread 0 --+
    stream 1, its fetcher  -->  thread 1 --+-->  one record at a time to stdout

A record counts as read once it is written to stdout; what was fetched and not written is read again
by the next owner. The run ends after a number of messages, or when no stream has found a message
for consumer.timeout.ms. Source: S3 (ConsumerTest, one for each KafkaStream); Kafka 0.8:
ConsoleConsumer.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Event, Lock, Thread
from typing import Any

from kminilog.cli.consume.record_lines import WriteRecord
from kminilog.cli.consume.run import Wanted
from kminilog.cli.shared.cluster_option import given_cluster, placed
from kminilog.cli.shared.group_offsets import coordinator_of
from kminilog.cli.shared.interrupts import check_interrupt
from kminilog.cli.shared.output import flush, warn
from kminilog.clock import Clock
from kminilog.config import complete_config
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.interface import ConsumerRecord, MessageSource
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.consumer.stream import KafkaStream, open_streams
from kminilog.errors import typed
from kminilog.storage.log_dir.log_dir import LogDir

_LOOK_SECONDS = 0.05


def consume_streams(
    count: int,
    log_dir: LogDir,
    subscribe: Callable[[Consumer], object],
    settings: Mapping[str, Any],
    write: WriteRecord,
    wanted: Wanted,
    clock: Clock,
    open_source: Callable[[], MessageSource],
) -> None:
    """Write the records of `count` streams until the run is to end; raises what a stream raises."""
    timeout_ms = complete_config(settings, CONSUMER_SETTINGS)["consumer.timeout.ms"]
    run = StreamsRun(write, wanted)
    if run.is_over:
        return
    group = settings["group.id"]
    # Made here, one for each thread: only the main thread knows the options of the command line.
    sources = [open_source() for _ in range(count)]
    if wanted.start is not None and coordinator_of(log_dir, sources[0]).committed(group):
        told = (
            f"group {group} goes on at its committed offsets; --offset {wanted.start} is for "
            "partitions without one; "
            f"{typed('group reset', group, options=f'--to {wanted.start} --yes')} moves them"
        )
        warn(placed(told, given_cluster()))
    streams = open_streams(
        count,
        subscribe,
        sources.pop,
        partial(coordinator_of, log_dir),
        {**settings, "consumer.timeout.ms": -1},  # the run decides, for all streams together
        clock,
        on_reset=lambda reset: warn(str(reset)),
        on_lost=lambda lost: warn(str(lost)),
    )
    run.run(streams, timeout_ms)


class StreamsRun:
    """Threads that write what the streams find, one record at a time."""

    def __init__(self, write: WriteRecord, wanted: Wanted) -> None:
        self._write = write
        self._key = wanted.key
        self._left = float("inf") if wanted.max_messages is None else wanted.max_messages
        self._lock = Lock()
        self._over = Event()
        self._errors: list[BaseException] = []
        self._end_if_done()

    @property
    def is_over(self) -> bool:
        """Whether no record is wanted any more."""
        return self._over.is_set()

    def run(self, streams: Sequence[KafkaStream], timeout_ms: int) -> None:
        """Write records; close the streams at the end."""
        threads = [Thread(target=self._read, args=[stream], daemon=True) for stream in streams]
        for thread in threads:
            thread.start()
        try:
            while not self._over.is_set():
                check_interrupt()
                self._over.wait(_LOOK_SECONDS)
                if 0 <= timeout_ms <= min(stream.silent_ms for stream in streams):
                    break
        finally:
            self._over.set()
            for stream in streams:
                stream.stop()
            for thread in threads:
                thread.join()
        if self._errors:
            raise self._errors[0]

    def _read(self, stream: KafkaStream) -> None:
        """Write the records of one stream; a record that was not written does not count as read."""
        is_written = True
        try:
            for record in stream:
                is_written = self._take(record)
                if not is_written:
                    break
        except BaseException as error:  # noqa: BLE001 - raised again by `run`
            is_written = False
            self._note(error)
        try:
            stream.close(is_done=is_written)
        except BaseException as error:  # noqa: BLE001 - raised again by `run`
            self._note(error)

    def _take(self, record: ConsumerRecord) -> bool:
        """Write a record, and return True; False if none is wanted any more."""
        with self._lock:
            if self._over.is_set():
                return False
            if self._key is None or record.key == self._key:
                self._write(record)
                flush()  # before it counts as read
                self._left -= 1
                self._end_if_done()
            return True

    def _end_if_done(self) -> None:
        if self._left <= 0:
            self._over.set()

    def _note(self, error: BaseException) -> None:
        self._errors.append(error)
        self._over.set()
