"""The chain that sees every record on its way out, and hears what became of it.

    on_send              before the record is serialised and placed; may answer with another record
    on_acknowledgement   when it is acknowledged, or has failed
    close                when the producer is closed

They are called in the order of the list. Each `on_send` gets what the last one that succeeded has
answered. An interceptor that raises is passed over: neither the record nor the others suffer. Each
failure is told to `on_error`; nothing is kept or logged here.

Source: S2 2; Kafka: ProducerInterceptor, ProducerInterceptors. Differs: Kafka trusts what `on_send`
answers; here an answer that is no record counts as a failure (docs/differences.md).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kminilog.producer.record import NO_OFFSET, UNKNOWN_PARTITION, ProducerRecord, RecordMetadata


class ProducerInterceptor:
    """One link of the chain; this one changes nothing.

    A class in `interceptor.classes` need not be a subclass, and may leave out any method. Threads
    that send call `on_send`, the one that delivers calls `on_acknowledgement`.
    """

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take the producer's settings, all of them; called once, before anything else."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record to send: the same, or another one."""
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: BaseException | None) -> None:
        """Hear where a record is, or why it was not sent.

        With an error, `metadata` has no offset, and no partition if none was chosen.
        """

    def close(self) -> None:
        """Hear that the producer is closed."""


def _ignore(text: str) -> None:
    pass


class ProducerInterceptors:
    """The chain of one producer; any thread may call it.

    >>> class Shout(ProducerInterceptor):
    ...     def on_send(self, record):
    ...         return record._replace(value=record.value.upper())
    >>> class Broken(ProducerInterceptor):
    ...     def on_send(self, record):
    ...         raise RuntimeError("out of order")
    >>> chain = ProducerInterceptors([Shout(), Broken()], on_error=print)
    >>> chain.on_send(ProducerRecord("orders", value="two teapots")).value
    interceptor Broken: on_send: RuntimeError: out of order
    'TWO TEAPOTS'
    """

    def __init__(
        self,
        interceptors: Iterable[ProducerInterceptor],
        *,
        on_error: Callable[[str], object] = _ignore,
    ) -> None:
        self._interceptors = tuple(interceptors)
        self._on_error = on_error

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return what the chain makes of a record; the record itself if all of them fail."""
        for interceptor in self._interceptors:
            answer = self._call(interceptor, "on_send", record)
            if isinstance(answer, ProducerRecord):
                record = answer
        return record

    def on_acknowledgement(
        self, metadata: RecordMetadata, error: BaseException | None = None
    ) -> None:
        """Tell every interceptor where a record is, or why it was not sent."""
        for interceptor in self._interceptors:
            self._call(interceptor, "on_acknowledgement", metadata, error)

    def on_send_error(
        self, record: ProducerRecord, error: BaseException, *, partition: int | None = None
    ) -> None:
        """Tell every interceptor that a record was not sent.

        The metadata names no offset, and the partition that was chosen, or else the one that the
        record names, or else UNKNOWN_PARTITION.
        """
        named = record.partition if partition is None else partition
        place = UNKNOWN_PARTITION if named is None else named
        self.on_acknowledgement(RecordMetadata(record.topic, place, NO_OFFSET), error)

    def close(self) -> None:
        """Close every interceptor."""
        for interceptor in self._interceptors:
            self._call(interceptor, "close")

    def _call(self, interceptor: ProducerInterceptor, call: str, *arguments: object) -> object:
        """Return what an interceptor answers, None if it has no such method or has failed."""
        method = getattr(interceptor, call, None)
        if method is None:
            return None
        try:
            answer: object = method(*arguments)
        except Exception as error:  # noqa: BLE001 - the interceptor is the user's
            self._note(interceptor, call, f"{type(error).__name__}: {error}")
            return None
        if call == "on_send" and not isinstance(answer, ProducerRecord):
            self._note(interceptor, call, f"{type(answer).__name__} is no ProducerRecord")
        return answer

    def _note(self, interceptor: ProducerInterceptor, call: str, reason: str) -> None:
        self._on_error(f"interceptor {type(interceptor).__name__}: {call}: {reason}")
