import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.course.steps.null_or_empty import document
from kminilog.errors import NullValueError
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA
from kminilog.format.message import Message, decode, encode
from kminilog.text import shown

dialects = st.sampled_from(list(DIALECTS.values()))


def come_back(dialect, key, value):
    """Return the key and the value that the engine reads, as texts; "refused" if it writes none."""
    try:
        message = decode(dialect, encode(dialect, 0, key, value))
    except NullValueError:
        return ["refused", "refused"]
    assert isinstance(message, Message)
    return [shown(message.key, 40), shown(message.value, 40)]


@given(dialects, st.binary(min_size=1, max_size=60), st.binary(max_size=60))
def test_null_or_empty_final_state_is_what_the_engine_reads(dialect, key, value):
    rows = document(dialect, key, value).final.tables[0].rows
    written = [(None, value), (b"", value), (key, value), (key, b""), (key, None)]
    assert [list(row[3:]) for row in rows] == [come_back(dialect, *one) for one in written]
    assert [row[1:3] for row in rows] == [tuple(shown(part, 40) for part in one) for one in written]


@given(dialects, st.binary(min_size=1, max_size=60), st.binary(max_size=60))
def test_null_or_empty_files_are_what_the_engine_writes(dialect, key, value):
    files = {file.name: file.data for file in document(dialect, key, value).files}
    assert files.pop("null value", None) == (
        encode(dialect, 0, key, None) if dialect.has_value_length else None
    )
    assert files == {
        "no key": encode(dialect, 0, None, value),
        "empty key": encode(dialect, 0, b"", value),
        "a key": encode(dialect, 0, key, value),
        "empty value": encode(dialect, 0, key, b""),
    }


@pytest.mark.parametrize(
    ("dialect", "answers"),
    [
        (KAFKA, ["0", "partition 1", "-1", "5"]),
        (DOCUMENTED, ["0", "partition 1", "it refuses the message", "4"]),
    ],
)
def test_null_or_empty_questions_have_the_right_answers(dialect, answers):
    asks = [step.ask for step in document(dialect).steps if step.ask]
    assert all(len(ask.choices) >= 3 for ask in asks)
    assert [c.answer for ask in asks for c in ask.choices if c.is_right] == answers


def test_null_or_empty_in_the_documented_dialect_shows_the_error():
    told = [step.state.values.get("error") for step in document(DOCUMENTED).steps]
    assert [error for error in told if error] == [str(NullValueError("documented"))]


def test_null_or_empty_needs_a_key_to_compare_with():
    with pytest.raises(ValueError, match="the key is empty"):
        document(KAFKA, b"")
