import pytest

from kminilog.course.steps.acks import document
from tests.support.course.steps.scenes import words_of

pytestmark = pytest.mark.usefixtures("without_fsync")

TOLD_BEFORE_COPY = [
    ("m0", "nothing", "stored at 0", "stored at 0"),
    ("m1", "nothing", "stored at 1", "stored at 1"),  # by broker 0, and by broker 1 the second time
    ("m2", "nothing", "stored at 1", "stored at 2"),
    ("m3", "nothing", "an error", "an error"),
]
TOLD_AFTER_COPY = [
    ("m0", "nothing", "stored at 0", "stored at 0"),
    ("m1", "nothing", "stored at 1", "stored at 2"),  # it is at 1 already
    ("m2", "nothing", "stored at 2", "stored at 3"),
    ("m3", "nothing", "an error", "an error"),
]
BECAME_BEFORE_COPY = [
    ("stored", 2, 2, 3),
    ("stored twice", 0, 0, 0),
    ("lost", 2, 2, 1),
    ("lost, told that it is stored", 0, 1, 0),
    ("lost, told nothing", 2, 0, 0),
    ("lost, told an error", 0, 1, 1),
]
BECAME_AFTER_COPY = [
    ("stored", 3, 3, 3),
    ("stored twice", 0, 0, 1),
    ("lost", 1, 1, 1),
    ("lost, told that it is stored", 0, 0, 0),
    ("lost, told nothing", 1, 0, 0),
    ("lost, told an error", 0, 1, 1),
]


def copies(step):
    """Return the messages of each copy: acks 0, 1 and -1, each of broker 0 and of broker 1."""
    return [" ".join(bar.label for bar in lane.bars) for lane in step.state.picture.lanes]


@pytest.mark.parametrize(
    ("is_copied", "told", "became"),
    [
        (False, TOLD_BEFORE_COPY, BECAME_BEFORE_COPY),
        (True, TOLD_AFTER_COPY, BECAME_AFTER_COPY),
    ],
)
def test_acks_what_is_told_and_what_is_kept(is_copied, told, became):
    tables = document(is_copied).final.tables
    assert [[*table.rows] for table in tables] == [told, became]


def test_acks_copies_of_each_step_before_the_follower_has_it():
    steps = [copies(step) for step in document().steps]
    assert steps == [
        [""] * 6,
        ["m0"] * 6,
        ["m0 m1", "m0"] * 3,
        ["m0 m1", "m0", "m0 m1", "m0", "m0 m1", "m0 m1"],
        ["m0 m1", "m0 m2", "m0 m1", "m0 m2", "m0 m1", "m0 m1 m2"],
        ["m0 m2"] * 4 + ["m0 m1 m2"] * 2,
        ["m0 m2"] * 4 + ["m0 m1 m2"] * 2,
        ["m0 m2"] * 4 + ["m0 m1 m2"] * 2,
    ]


def test_acks_copies_of_each_step_after_the_follower_has_it():
    steps = [copies(step) for step in document(is_copied=True).steps]
    once, twice = "m0 m1", "m0 m1 m1"
    assert steps[2:6] == [
        [once] * 6,
        [once] * 5 + [twice],
        [once, "m0 m1 m2"] * 2 + [once, "m0 m1 m1 m2"],
        ["m0 m1 m2"] * 4 + ["m0 m1 m1 m2"] * 2,
    ]


@pytest.mark.parametrize(
    ("is_copied", "right"),
    [
        (
            False,
            [
                "only the one with acks = 1",
                "only with acks = -1",
                "it removes m1 and copies m2",
                "the producers with acks = 1 and acks = -1",
            ],
        ),
        (
            True,
            [
                "only the one with acks = 1",
                "in all three, with acks = -1 twice",
                "the producers with acks = 1 and acks = -1",
            ],
        ),
    ],
)
def test_acks_questions_have_these_answers(is_copied, right):
    asked = [step.ask for step in document(is_copied).steps if step.ask]
    assert [next(one.answer for one in ask.choices if one.is_right) for ask in asked] == right


def test_acks_old_leader_cuts_only_what_the_new_one_lacks():
    assert any("With acks = 0 and 1 it removes m1" in text for text in words_of(document()))
    assert any("it cuts nothing" in text for text in words_of(document(is_copied=True)))
