"""The bounds of a document, and what the steps at a gap say then."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kminilog.explain.document import (
    MAX_BYTES,
    MAX_STEPS,
    UNPARSED,
    Bar,
    ByteRange,
    Field,
    Picture,
    PictureLane,
    Table,
    compact,
    digest,
)
from kminilog.explain.page import render_page
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.explain.text import field_rows
from tests.support.course.steps.scenes import NAMES, made

PAGE_BYTES = 400_000


def test_rows_of_keys_values_and_unparsed_bytes_have_their_text_beside_the_hex():
    recording = Recording("rows", "Rows")
    fields = [Field("f", 0, 4, UNPARSED, UNPARSED, None), Field("f", 4, 8, "size", "size", 7)]
    recording.file("f", b"book\0\0\0\x07", fields)
    recording.step("All.")
    assert field_rows(recording.document(), ByteRange("f", 0, 8)) == [
        (0, "unparsed", "62 6f 6f 6b", "book"),
        (4, "size", "00 00 00 07", "7"),
    ]


def test_recording_of_too_many_steps_keeps_the_last_and_says_where_how_many_are_missing():
    recording = Recording("many", "Many")
    for number in range(MAX_STEPS + 500):
        recording.step(f"{number}.")
    document = recording.document()
    left_out = MAX_STEPS + 500 - len(document.steps)
    assert left_out > 0
    assert [step.say for step in document.steps[:3]] == ["0.", "1.", "2."]
    shown = [int(step.say.split(".")[0]) for step in document.steps]
    assert shown[-4:] == [MAX_STEPS + number for number in (496, 497, 498, 499)]
    (gap,) = [slot for slot in range(1, len(shown)) if shown[slot] != shown[slot - 1] + 1]
    noted = [step.say for step in document.steps if "(" in step.say]
    assert (
        noted
        == [document.steps[gap].say]
        == [f"{shown[gap]}. (To save room, {left_out} steps before this one are left out.)"]
    )


def test_recording_that_is_too_long_gives_up_pictures_before_steps():
    recording = Recording("drawn", "Drawn")
    bars = tuple(Bar(n, n + 1, str(n), "value") for n in range(60))
    picture = Picture("Bars", (PictureLane("lane", 0, 60, bars),))
    for number in range(60):
        recording.step(f"{number}.", picture=picture)
    document = recording.document()
    without = [step for step in document.steps if step.state.picture is None]
    assert len(document.steps) == 60
    assert 0 < len(without) < 59
    assert document.steps[0].state.picture == document.final.picture == picture
    assert [step for step in document.steps if "(" in step.say] == without[:1]
    assert without[0].say == (
        f"{56 - len(without)}. (To save room, this step and the {len(without) - 1} after it have "
        "no picture.)"
    )
    assert all(step.state.picture == picture for step in document.steps[-4:])
    assert len(render_page(document).encode()) <= PAGE_BYTES


def test_recording_of_too_many_bytes_is_refused_in_one_line():
    recording = Recording("much", "Much")
    whole = bytes(MAX_BYTES + 1)
    with pytest.raises(ValueError, match="65537 bytes in a step-through; at most 65536"):
        recording.file("f", whole, [Field("f", 0, len(whole), "all", "all", None)])


def test_recording_of_too_many_fields_is_refused_in_one_line():
    fields = [Field("f", n, n + 1, "one", "one", None) for n in range(4000)]
    with pytest.raises(ValueError, match="4000 fields are too many"):
        Recording("much", "Much").file("f", bytes(4000), fields)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.integers(1, 60), st.sampled_from(["", "x", "<", "é\n"]))
def test_page_is_below_its_bound_whatever_the_steps_show(columns, rows, cell):
    recording = Recording("wide", "Wide")
    recording.file("f", bytes(MAX_BYTES), [Field("f", 0, MAX_BYTES, "all", "all", None)])
    table = Table("t", tuple("c" * columns), tuple((cell,) * columns for _ in range(rows)))
    for number in range(300):
        recording.step(cell or "-", values={str(number): number}, tables=[table])
    document = recording.document()
    assert len(render_page(document).encode()) <= PAGE_BYTES
    left_out = [step for step in document.steps if "left out" in step.say]
    assert len(left_out) == (len(document.steps) < 300)


@pytest.mark.parametrize("step_count", [12, 60])
def test_page_is_below_its_bound_whatever_bytes_are_in_focus(step_count):
    recording = Recording("lit", "Lit")
    fields = [Field("f", n, n + 1, "one", "one", n) for n in range(1200)]
    recording.file("f", bytes(1200), fields)
    for number in range(step_count):
        recording.step(f"{number}.", focus=[ByteRange("f", number, 400 - number)])
    recording.step("The result.", focus=[ByteRange("f", 0, 9)])
    page = render_page(recording.document())
    assert 350_000 < len(page.encode()) <= PAGE_BYTES
    assert "f, bytes 0 to 8</h3>" in page
    assert "too many for this page" in page


def test_page_of_each_scene_embeds_the_document():
    for name in NAMES:
        page = render_page(made(name))
        assert compact(made(name)) in page, name
        assert f'<meta name="kminilog-trace" content="{digest(made(name))}"/>' in page, name


def test_ask_orders_choices_by_number_and_drops_what_is_right_anyway():
    question = ask("?", "10", "so", {"9": "a", "-13": "b", "10": "never said"})
    assert [choice.answer for choice in question.choices] == ["-13", "9", "10"]
    assert [choice.why for choice in question.choices if choice.is_right] == ["so"]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ([Field("f", 0, 1, "a", "a", 0)], "a byte without a field"),
        ([Field("f", 0, 2, "a", "a", 0), Field("f", 1, 2, "b", "b", 0)], "a byte with two"),
        ([Field("f", 0, 0, "a", "a", 0), Field("f", 0, 2, "b", "b", 0)], "a field without bytes"),
    ],
)
def test_document_with_bytes_that_have_not_one_field_each_is_refused(fields, fault):
    recording = Recording("bad", fault)
    recording.file("f", b"ab", fields)
    recording.step("so")
    with pytest.raises(AssertionError):
        recording.document()


def test_question_whose_wrong_answers_are_right_is_none():
    assert (
        question_with_enough_choices(ask("How many?", "1", "So it is.", {"1": "No.", "2": "No."}))
        is None
    )
    question = ask("How many?", "0", "So it is.", {"1": "No.", "2": "No."})
    assert question_with_enough_choices(question) == question
