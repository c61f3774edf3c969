import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.columns import boundaries
from kminilog.columns.boundaries import find_beginnings
from kminilog.format.message import decode
from tests.support.columns.strategies import both_dialects, log_of, messages
from tests.support.damage import message_positions


def hints_for(draw, positions: list[int], size: int) -> np.ndarray:
    """Ascending positions: beginnings, or any bytes, or both."""
    some = st.lists(st.sampled_from(positions)) | st.lists(st.integers(0, size + 30))
    return np.unique(np.array(draw(some) + draw(some), np.int64))


def plain_beginnings(dialect, data: bytes) -> list[int]:
    """What the sizes alone say, one by one."""
    position = 0
    found = [0]
    while position + 12 <= len(data):
        size = int.from_bytes(data[position + 8 : position + 12], signed=True)
        if size < dialect.overhead_bytes or position + 12 + size > len(data):
            break
        position += 12 + size
        found.append(position)
    return found


@both_dialects
@given(data=st.data())
def test_beginnings_are_the_plain_chains_whatever_the_hints(dialect, data):
    content = log_of(dialect, data.draw(messages(dialect)))
    hints = hints_for(data.draw, message_positions(content), len(content))
    content = content[: len(content) - data.draw(st.integers(0, 30))]
    assert find_beginnings(dialect, content, hints).tolist() == plain_beginnings(dialect, content)


@both_dialects
@given(rows=st.integers(40, 120), data=st.data())
def test_beginnings_with_many_hints_are_walked_in_step(dialect, rows, data):
    pairs = [(b"k" * (n % 7), b"v" * (n % 5)) for n in range(rows)]
    content = log_of(dialect, pairs)
    positions = message_positions(content)
    step = data.draw(st.integers(1, 3))
    hints = np.array(positions[::step])
    if data.draw(st.booleans()):  # one of them is wrong
        hints[data.draw(st.integers(0, len(hints) - 1))] += data.draw(st.sampled_from([-1, 1]))
    assert find_beginnings(dialect, content, np.abs(hints)).tolist() == positions


@both_dialects
@given(size=st.sampled_from([-(2**31), -12, -1, 0, 9, 10, 13, 14, 500, 2**31 - 1]), data=st.data())
def test_beginnings_end_at_a_wrong_size(dialect, size, data):
    pairs = [(b"k" * (n % 7), b"v" * (n % 5)) for n in range(100)]
    content = bytearray(log_of(dialect, pairs))
    positions = message_positions(bytes(content))
    changed = data.draw(st.sampled_from(positions[:-1]))
    content[changed + 8 : changed + 12] = size.to_bytes(4, signed=True)
    found = find_beginnings(dialect, bytes(content), np.array(positions[:-1])).tolist()
    assert found == plain_beginnings(dialect, bytes(content))


@pytest.mark.parametrize("size", [0, 1, 11])
def test_beginnings_of_too_few_bytes_are_none(dialect, size):
    assert find_beginnings(dialect, bytes(size)).tolist() == [0]
    assert decode(dialect, bytes(size)).needed_bytes == 12


def test_beginnings_end_at_a_size_below_the_smallest_even_if_a_hint_goes_on_behind_it(dialect):
    front = log_of(dialect, [(b"k" * (n % 7), b"v") for n in range(40)])
    small = bytes(8) + (5).to_bytes(4) + bytes(5)
    content = front + small + front
    behind = len(front) + len(small)
    inside = message_positions(front)
    hints = np.array([*inside, *[behind + position for position in inside]])
    assert find_beginnings(dialect, content, hints).tolist() == inside


def test_beginnings_with_hints_behind_the_last_message_are_the_same(dialect):
    content = log_of(dialect, [(b"k" * (n % 7), b"v") for n in range(50)])
    positions = message_positions(content)
    end = len(content)
    hints = np.array([*positions[:-1], end - 5, end - 2, end, end + 7])
    assert find_beginnings(dialect, content, hints).tolist() == positions


def test_beginnings_up_to_the_last_true_hint_are_not_walked_one_by_one(monkeypatch, dialect):
    content = log_of(dialect, [(b"k" * (n % 7), b"v" * (n % 5)) for n in range(200)])
    positions = message_positions(content)
    hints = [at for n, at in enumerate(positions[1:-1]) if n % 5 in (0, 2)]  # some nearer
    one_by_one, walked = boundaries._chain, []

    def chain(data, position, minimum):
        walked.append(position)
        return one_by_one(data, position, minimum)

    monkeypatch.setattr(boundaries, "_chain", chain)
    assert find_beginnings(dialect, content, np.array(hints)).tolist() == positions
    assert walked == hints[-1:]
