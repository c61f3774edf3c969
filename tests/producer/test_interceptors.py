import pytest

from kminilog.errors import LeaderNotAvailableError, PluginError
from kminilog.producer.interceptors import ProducerInterceptor, ProducerInterceptors
from kminilog.producer.manual_producer import load_interceptors
from kminilog.producer.record import NO_OFFSET, UNKNOWN_PARTITION, ProducerRecord, RecordMetadata

RECORD = ProducerRecord("orders", b"key", "value")
PLACE = RecordMetadata("orders", 2, 17)
CLOSED: list[str] = []  # by the classes that are made from their paths


class Append(ProducerInterceptor):
    """Appends its letter to each value, and keeps what it is told."""

    def __init__(self, letter: str = "a") -> None:
        self.letter = letter
        self.told: list[tuple[RecordMetadata, BaseException | None]] = []
        self.closed_count = 0

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value=record.value + self.letter)

    def on_acknowledgement(self, metadata: RecordMetadata, error: BaseException | None) -> None:
        self.told.append((metadata, error))

    def close(self) -> None:
        self.closed_count += 1


class Broken(ProducerInterceptor):
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        raise RuntimeError("cannot send")

    def on_acknowledgement(self, metadata: RecordMetadata, error: BaseException | None) -> None:
        raise RuntimeError("cannot hear")

    def close(self) -> None:
        raise RuntimeError("cannot close")


class Silent(ProducerInterceptor):
    """Forgets to return the record."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return None  # type: ignore[return-value]


class Nothing:
    """Has no method at all."""


class Configured(ProducerInterceptor):
    def configure(self, config):
        self.config = dict(config)

    def close(self) -> None:
        CLOSED.append(self.config["client"])


class CannotBeMade:
    def __init__(self) -> None:
        raise RuntimeError("not today")


class CannotBeConfigured:
    def configure(self, config):
        raise RuntimeError("not like this")


# ---- on_send


def test_on_send_without_interceptors_returns_the_record():
    assert ProducerInterceptors([]).on_send(RECORD) is RECORD


def test_on_send_goes_through_the_chain_in_order():
    assert ProducerInterceptors([Append("a"), Append("b")]).on_send(RECORD).value == "valueab"


def test_on_send_that_raises_is_passed_over_and_the_next_gets_the_last_good_answer():
    chain = ProducerInterceptors([Append("a"), Broken(), Append("c")])
    assert chain.on_send(RECORD).value == "valueac"


def test_on_send_that_all_raise_returns_the_record_itself():
    assert ProducerInterceptors([Broken(), Broken()]).on_send(RECORD) is RECORD


def test_on_send_answer_that_is_no_record_is_a_failure():
    told: list[str] = []
    chain = ProducerInterceptors([Append("a"), Silent(), Append("c")], on_error=told.append)
    assert chain.on_send(RECORD).value == "valueac"
    assert told == ["interceptor Silent: on_send: NoneType is no ProducerRecord"]


def test_on_send_interrupt_goes_through():
    class Interrupted(ProducerInterceptor):
        def on_send(self, record):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ProducerInterceptors([Interrupted()]).on_send(RECORD)


# ---- on_acknowledgement


@pytest.mark.parametrize("error", [None, LeaderNotAvailableError("orders")])
def test_on_acknowledgement_tells_every_interceptor_of_success_and_of_failure(error):
    before, after = Append(), Append()
    ProducerInterceptors([before, Broken(), after]).on_acknowledgement(PLACE, error)
    assert before.told == after.told == [(PLACE, error)]


@pytest.mark.parametrize(("named", "told"), [(None, UNKNOWN_PARTITION), (0, 0), (3, 3)])
def test_on_send_error_tells_the_partition_if_there_is_one_and_no_offset(named, told):
    interceptor = Append()
    error = LeaderNotAvailableError("orders")
    chain = ProducerInterceptors([Broken(), interceptor])
    chain.on_send_error(RECORD._replace(partition=named), error)
    assert interceptor.told == [(RecordMetadata("orders", told, NO_OFFSET), error)]
    assert (UNKNOWN_PARTITION, NO_OFFSET) == (-1, -1)


def test_close_closes_every_interceptor():
    before, after = Append(), Append()
    ProducerInterceptors([before, Broken(), after]).close()
    assert (before.closed_count, after.closed_count) == (1, 1)


# ---- what went wrong


def test_failures_are_told():
    told: list[str] = []
    chain = ProducerInterceptors([Broken()], on_error=told.append)
    chain.on_send(RECORD)
    chain.on_acknowledgement(PLACE)
    chain.close()
    assert told == [
        "interceptor Broken: on_send: RuntimeError: cannot send",
        "interceptor Broken: on_acknowledgement: RuntimeError: cannot hear",
        "interceptor Broken: close: RuntimeError: cannot close",
    ]


def test_interceptor_may_leave_out_any_method():
    told: list[str] = []
    chain = ProducerInterceptors([Nothing()], on_error=told.append)  # type: ignore[list-item]
    assert chain.on_send(RECORD) is RECORD
    chain.on_acknowledgement(PLACE)
    chain.close()
    assert not told


# ---- from the settings


def path_of(interceptor_class: type) -> str:
    return f"{__name__}.{interceptor_class.__name__}"


@pytest.mark.parametrize("paths", ["", " , "])
def test_load_interceptors_of_no_path_are_none(paths):
    assert load_interceptors(paths, {}) == []


def test_load_interceptors_makes_each_in_order_and_configures_those_that_can_be():
    paths = f"{path_of(Configured)} ,{path_of(Nothing)}"
    configured, nothing = load_interceptors(paths, {"client": "one"})
    assert isinstance(configured, Configured)
    assert configured.config == {"client": "one"}
    assert isinstance(nothing, Nothing)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (path_of(CannotBeMade), "RuntimeError: not today"),
        (path_of(CannotBeConfigured), "RuntimeError: not like this"),
        ("no_such_module.Class", "cannot import no_such_module"),
    ],
)
def test_load_interceptors_that_cannot_be_had_says_why_and_closes_the_others(path, reason):
    CLOSED.clear()
    with pytest.raises(PluginError, match=r"interceptor\.classes") as caught:
        load_interceptors(f"{path_of(Configured)},{path}", {"client": "two"})
    assert caught.value.path == path
    assert reason in str(caught.value)
    assert CLOSED == ["two"]
