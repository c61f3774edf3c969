"""The bench of a key says what `kminilog partition` says."""

import json

import pytest
from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.course.benches.key import BENCH, KEYS


def on_command_line(keys, partitions):
    words = [part for key in keys for part in ("--key", key)]
    command = ["partition", "--partitions", str(partitions), *words, "--json"]
    ran = CliRunner().invoke(main, command)
    return [each["partition"] for each in json.loads(ran.stdout)["choices"]]


@pytest.mark.parametrize("key, partitions", [("TT0124", 15), ("straße", 1), ("k", 100)])
def test_key_bench_answers_what_partition_answers(key, partitions):
    state = BENCH.answer({"key": key, "partitions": str(partitions)}, []).final
    expected = [on_command_line([key], more)[0] for more in (partitions, partitions + 1)]
    assert [state.values["partition"], state.values[f"of {partitions + 1}"]] == expected
    old, new = (on_command_line(KEYS, more) for more in (partitions, partitions + 1))
    moves = ["moves" if a != b else "" for a, b in zip(old, new, strict=True)]
    assert state.tables[0].rows == tuple(zip(KEYS, old, new, moves, strict=True))
    assert state.tables[0].title.startswith(f"{moves.count('moves')} of 20 keys")


def test_key_bench_shows_the_last_round_as_bits():
    lanes = {lane.name: lane for lane in BENCH.answer({"key": ""}, []).final.picture.lanes}
    h, shifted, xor = (int(lanes[name].note, 16) for name in ("h", "h >>> 15", "xor"))
    assert (shifted, xor) == (h >> 15, h ^ shifted)
    assert int("".join(bar.label for bar in lanes["xor"].bars), 2) == xor


@pytest.mark.parametrize(
    "fields, said",
    [
        ({"partitions": "0"}, "partitions: '0' is no number from 1 to 100"),
        ({"partitions": "ten"}, "partitions: 'ten' is no number"),
        ({"key": "k" * 4097}, "the key has 4097 bytes; at most 4096 are hashed here"),
    ],
)
def test_key_bench_says_what_it_does_not_take(fields, said):
    with pytest.raises(ValueError) as told:
        BENCH.answer(fields, [])
    assert said in str(told.value)
