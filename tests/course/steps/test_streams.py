import pytest

from kminilog.course.steps.streams import EACH, QUEUE, document

pytestmark = pytest.mark.usefixtures("without_fsync")


def shares(step):
    """Return the partitions of each stream."""
    return {row[0]: row[1] for row in step.state.tables[0].rows}


def handed_out(step):
    """Return what each stream has handed out in this step."""
    return {row[0]: row[2] for row in step.state.tables[0].rows if row[2]}


def bars(step):
    """Return the messages that were handed out so far."""
    return [bar for lane in step.state.picture.lanes for bar in lane.bars]


def test_streams_shares_of_each_step():
    assert [shares(step) for step in document().steps] == [
        *[{"A-0": "0 1 2 3"}] * 2,
        *[{"A-0": "0 1", "B-0": "2 3"}] * 2,
        {"A-0": "0", "B-0": "1", "C-0": "2", "C-1": "3", "C-2": "none"},
        {"B-0": "0", "C-0": "1", "C-1": "2", "C-2": "3"},
        *[{"C-0": "0 1", "C-1": "2", "C-2": "3"}] * 2,
    ]


def test_streams_hand_out_again_what_was_at_hand_when_others_joined():
    assert [handed_out(step) for step in document().steps[:4]] == [
        {},
        {"A-0": "0:0 0:1 0:2 0:3"},
        {},
        {"A-0": "0:3 0:4", "B-0": "2:0 2:1"},
    ]


@pytest.mark.parametrize(("streams", "partitions"), [(2, 1), (2, 4), (8, 2), (8, 8), (3, 5)])
def test_streams_hand_out_all_and_one_waits_whatever_their_number(streams, partitions):
    steps = document(streams, partitions).steps
    shown = shares(steps[4])
    assert len(shown) > partitions
    assert sum(share == "none" for share in shown.values()) == len(shown) - partitions
    assert all(len(row[3].split()) <= QUEUE for step in steps for row in step.state.tables[0].rows)
    assert sum(number for _, number in steps[-1].state.tables[1].rows) == partitions * EACH


def test_streams_that_are_closed_commit_and_those_that_die_do_not():
    notes = [step.state.picture.lanes[0].note for step in document().steps[4:7]]
    assert notes == [
        "A-0 reads; committed: 4",
        "B-0 reads; committed: 6",
        "C-0 reads; committed: 6",  # B-0 has handed out two more
    ]


@pytest.mark.parametrize(("streams", "partitions"), [(2, 1), (2, 4), (8, 8)])
def test_streams_have_committed_all_in_the_end(streams, partitions):
    lanes = document(streams, partitions).final.picture.lanes
    assert [lane.note.partition("; ")[2] for lane in lanes] == [f"committed: {EACH}"] * partitions


@pytest.mark.parametrize(("streams", "partitions"), [(2, 1), (2, 4), (8, 8)])
def test_streams_that_die_let_others_read_all_again_that_they_had_not_committed(
    streams, partitions
):
    steps = document(streams, partitions).steps
    notes = [[lane.note[-1] for lane in step.state.picture.lanes] for step in steps[5:7]]
    assert notes[0] == notes[1], "who dies commits nothing"
    died, last = ({bar.key: bar for bar in bars(step)} for step in (steps[6], steps[7]))
    unsaved = [key for key, bar in died.items() if bar.label[0] == "B" and bar.style == "free"]
    assert unsaved
    assert all(last[key].style == "lost" for key in unsaved), "handed out more than once"
