"""Random messages and random settings that are small enough to roll often."""

from hypothesis import strategies as st

from kminilog.format.dialect import Dialect
from kminilog.format.message import encoded_bytes
from kminilog.settings import TopicSettings
from tests.support.properties.expected_layout import ExpectedLog, KeyValue, Rules

_TEXTS = st.text(max_size=12).map(str.encode)  # non-ASCII too
_KEYS = st.none() | st.just(b"") | _TEXTS | st.binary(max_size=20)
_VALUES = st.just(b"") | _TEXTS | st.binary(max_size=40) | st.binary(min_size=200, max_size=400)


def key_values(dialect: Dialect) -> st.SearchStrategy[KeyValue]:
    """One message that the dialect can write."""
    values = _VALUES | st.none() if dialect.has_value_length else _VALUES
    return st.tuples(_KEYS, values)


@st.composite
def settings_that_hold(
    draw: st.DrawFn, dialect: Dialect, messages: list[KeyValue] | None = None
) -> TopicSettings:
    """Settings with tiny segments, just large enough for the largest message."""
    largest = max((encoded_bytes(dialect, *message) for message in messages or ()), default=14)
    return TopicSettings(
        segment_bytes=largest + draw(st.integers(0, 300)),
        index_interval_bytes=draw(st.sampled_from([0, 1, 40, 100, 4096])),
        segment_index_bytes=draw(st.sampled_from([8, 15, 24, 10_000])),
    )


def expected_log(dialect: Dialect, settings: TopicSettings, base_offset: int = 0) -> ExpectedLog:
    """The oracle for a log with these settings."""
    rules = Rules(
        dialect.has_value_length,
        settings.segment_bytes,
        settings.index_interval_bytes,
        settings.segment_index_bytes,
    )
    return ExpectedLog(rules, base_offset)
