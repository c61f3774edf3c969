import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.cli.step.command import scene_command
from kminilog.explain.murmur2 import document, readings, rounds
from kminilog.format.hashing import murmur2, to_positive
from kminilog.partitioners.keyed import murmur2_partition
from tests.support.cli.command_line import CommandLine, assert_one_line
from tests.support.course.steps import oracle
from tests.support.course.steps.scenes import words_of


@given(st.binary(max_size=200))
def test_rounds_end_with_what_murmur2_returns(key):
    assert list(rounds(key))[-1].h == murmur2(key) & 0xFFFFFFFF


@given(st.binary(max_size=60), st.integers(1, 1000))
def test_murmur2_final_state_is_what_the_producer_computes(key, partitions):
    final = document(key, partitions).final.values
    assert final["murmur2"] == murmur2(key)
    assert final["without the sign bit"] == to_positive(murmur2(key))
    assert final["partition"] == murmur2_partition(key, partitions)


def test_readings_are_those_that_others_have_computed():
    keys = {  # course.md: kafkajs 1154, node-rdkafka 616, confluent-kafka-python 1481
        (b"TT0124", 15): [10, 13, 3, 2, -13, 9],
        (b"f562ac3b-2224-4e25-a0ab-56094e10c239", 10): [5, 3, 3, 7, -3, 6],
        (b'Struct{documentKey={"_id": "638d1b94ce8def06be68b439"}}', 50): [40, 8, 38, 42, -8, 36],
        (b"354afe16-939a-4ea8-8e17-8bb0840b6886", 10): [4, 4, 4, 4, 4, 9],
    }
    for (key, partitions), wanted in keys.items():
        assert list(readings(key, partitions).values()) == wanted


@pytest.mark.parametrize(
    ("key", "partitions", "part"),
    [
        (b"TT0124", 15, "mistakes give five other numbers"),
        (b"TT0124", 4, "of the other readings give the same partition"),
        (b"3", 15, "or more give the same number"),
    ],
)
def test_murmur2_says_which_mistakes_a_test_with_this_key_finds(key, partitions, part):
    others = list(readings(key, partitions).values())[1:]
    assert (len(set(others)) == 5) == (part == "mistakes give five other numbers")
    assert part in document(key, partitions).steps[-1].say


def test_murmur2_asks_for_the_partition_and_names_each_wrong_thought():
    ask = document().steps[-1].ask
    assert [choice.answer for choice in ask.choices] == ["-13", "2", "3", "9", "10", "13"]
    assert [choice.answer for choice in ask.choices if choice.is_right] == ["10"]


@pytest.mark.parametrize(("key", "told"), [(b"TT0124", '"TT0124"'), (b"", '""')])
def test_murmur2_shows_its_key_at_each_step(key, told):
    assert {step.state.values["key"] for step in document(key, 15).steps} == {told}


def test_murmur2_of_the_empty_key_has_no_bytes_and_a_partition():
    assert document(b"", 15).final.values["murmur2"] == 275646681


@given(st.binary(max_size=60))
def test_murmur2_takes_a_key_that_is_no_text(key):
    made = scene_command("murmur2").document(["--key-hex", key.hex(), "--partitions", "7"])
    assert made == document(key, 7)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--key-hex", "6g"], "'6g': give pairs of hexadecimal digits"),
        (["--key", "TT0124", "--key-hex", ""], "give one key: --key or --key-hex"),
    ],
)
def test_murmur2_of_no_key_or_two_is_one_line(tmp_path, options, part):
    assert_one_line(CommandLine(tmp_path)("step", "murmur2", *options), 2, part)


def murmur2_by_hand(data: bytes) -> int:
    """Return the hash of Kafka's Utils.murmur2, without its sign."""
    h = (0x9747B28C ^ len(data)) & 0xFFFFFFFF
    while len(data) >= 4:
        k = struct.unpack("<I", data[:4])[0] * 0x5BD1E995 % 2**32
        h = (h * 0x5BD1E995 % 2**32) ^ ((k ^ k >> 24) * 0x5BD1E995 % 2**32)
        data = data[4:]
    for slot in reversed(range(len(data))):
        h ^= data[slot] << 8 * slot
    h = h * 0x5BD1E995 % 2**32 if data else h
    h = (h ^ h >> 13) * 0x5BD1E995 % 2**32
    return h ^ h >> 15


@pytest.mark.parametrize("seed", range(60))
def test_murmur2_says_what_a_hash_by_hand_gives(seed):
    chance = random.Random(seed)
    key = bytes.fromhex("df6461611b126e") + bytes(seed) if seed < 2 else chance.randbytes(seed - 2)
    partitions = chance.choice((1, 2, 3, 15, 1000))
    made = document(key, partitions)
    h = murmur2_by_hand(key)
    signed, positive = h - (h >> 31 << 32), h % 2**31
    sign, _, last = (step.say for step in made.steps[-3:])
    assert f" {signed}. Its highest bit is {h >> 31}," in sign
    assert last.startswith(f"{positive} % {partitions} = {positive % partitions}, which")
    assert oracle.numbers(made.steps[0].say) == [len(key), len(key) // 4, len(key) % 4]
    assert murmur2_by_hand(bytes.fromhex("df6461611b126e")) == murmur2_by_hand(
        bytes.fromhex("df6461611b126e00")
    )
    assert "usually get different hashes" in made.steps[1].say
    oracle.assert_one_thing_is_one(words_of(made))
