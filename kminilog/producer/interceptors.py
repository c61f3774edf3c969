"""The chain of interceptors: it sees every record before sending, and hears the result.

    on_send              before the record is serialised and placed; may return another record
    on_acknowledgement   when the record is acknowledged, or has failed
    close                when the producer is closed

Interceptors are called in the order of the list. Each `on_send` gets the record that the last
successful one returned. If an interceptor raises, it is skipped: the record and the other
interceptors are not affected. `on_error` gets a line for each failure; nothing is stored or logged.

Source: S2 2; Kafka: ProducerInterceptor, ProducerInterceptors. Differs: Kafka trusts what `on_send`
returns; here anything but a record counts as a failure (docs/differences.md).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kminilog.producer.record import NO_OFFSET, UNKNOWN_PARTITION, ProducerRecord, RecordMetadata


class ProducerInterceptor:
    """One link of the chain; this one changes nothing.

    A class in `interceptor.classes` need not be a subclass, and may leave out any method. The
    threads that send call `on_send`; the thread that delivers calls `on_acknowledgement`.
    """

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take all settings of the producer; called once, before any other method."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record to send: the same, or another one."""
        return record

    def on_acknowledgement(self, metadata: RecordMetadata, error: BaseException | None) -> None:
        """Take note of where a record is, or of the error that kept it from being sent.

        With an error, `metadata` has no offset, and no partition if none was chosen.
        """

    def close(self) -> None:
        """Release what the interceptor holds; the producer is being closed."""


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

    def __bool__(self) -> bool:
        """Tell if there are any."""
        return bool(self._interceptors)

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Return the record as the chain has changed it; the record itself if all of them fail."""
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

    def on_send_error(self, record: ProducerRecord, error: BaseException) -> None:
        """Tell every interceptor that a record was not sent.

        The metadata has NO_OFFSET, and the partition that the record names or UNKNOWN_PARTITION.
        """
        place = UNKNOWN_PARTITION if record.partition is None else record.partition
        self.on_acknowledgement(RecordMetadata(record.topic, place, NO_OFFSET), error)

    def close(self) -> None:
        """Close every interceptor."""
        for interceptor in self._interceptors:
            self._call(interceptor, "close")

    def _call(self, interceptor: ProducerInterceptor, call: str, *arguments: object) -> object:
        """Return what a method returns; None if the interceptor lacks it or it has failed."""
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
