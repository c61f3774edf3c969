from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kminilog.clock import ManualClock
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.config import complete_config
from kminilog.course.steps.sticky import document as twelve_sends
from kminilog.explain.choice import Asked, document
from kminilog.partitioners.default_0_8 import Default08
from kminilog.partitioners.dry_run import dry_run
from kminilog.partitioners.registry import PARTITIONERS, make_partitioner
from kminilog.producer_settings import PRODUCER_SETTINGS

EXAMPLES = "kminilog.partitioners.examples"
USERS = [f"{EXAMPLES}.AlwaysTwo", f"{EXAMPLES}.CorrectedExample"]


@st.composite
def asked_for(draw):
    """A partitioner, what it is asked with, and its choices."""
    given_settings = {
        "partitioner.class": draw(st.sampled_from([*PARTITIONERS, *USERS])),
        "batch.size": draw(st.sampled_from([0, 60, 16384])),
        "default-0.8.abs": draw(st.sampled_from(["mask", "abs"])),
        "send.switch.broker.enable": draw(st.booleans()),
        "partitioner.ignore.keys": draw(st.booleans()),
        "round-robin.double-call-bug": draw(st.booleans()),
    }
    config = complete_config(given_settings, PRODUCER_SETTINGS)
    order = draw(st.permutations(range(draw(st.integers(3, 6)))))
    down = draw(st.sets(st.sampled_from(order), max_size=len(order) - 1))
    keys = draw(st.lists(st.none() | st.text(max_size=9) | st.binary(max_size=9), max_size=6))
    name = config["partitioner.class"]
    chance = Random(draw(st.integers(0, 9)))
    chooser = make_partitioner(name, config, chance=chance, clock=ManualClock())
    cluster = ClusterMetadata.of_one_topic("orders", order, down)
    choices = list(dry_run(chooser, keys, "orders", cluster, config["batch.size"]))
    available = [number for number in order if number not in down]
    return Asked(name, config, order, available, isinstance(chooser, Default08)), choices


@pytest.mark.filterwarnings("ignore:setting .* has no effect")
@given(asked_for())
def test_choice_final_state_is_the_partition_that_the_partitioner_answered(given_choices):
    asked, choices = given_choices
    for choice in choices:
        values = document(choice, asked).final.values
        assert values["partition"] == choice.partition
        if "answers" in values:
            assert values["answers"] == ", ".join(map(str, choice.answers))
        if "by_hash" in values and values["by_hash"] in asked.available:
            assert values["by_hash"] == choice.partition


def test_choice_of_two_answers_is_told_as_among_the_twelve_sends():
    def chance():
        return Random(1)

    config = complete_config({"batch.size": 78}, PRODUCER_SETTINGS)
    chooser = make_partitioner("uniform-sticky", config, chance=chance(), clock=ManualClock())
    cluster = ClusterMetadata.of_one_topic("orders", range(4))
    (choice,) = dry_run(chooser, [None], "orders", cluster, 78)
    said = document(choice, Asked("uniform-sticky", config, range(4), range(4))).steps[0].say
    assert len(choice.answers) == 2
    assert said in twelve_sends(chance, partitioners=["uniform-sticky"]).steps[1].say


@pytest.mark.parametrize("seed", range(50))
def test_choice_says_what_a_hash_code_by_hand_gives(seed):
    chance = Random(seed)
    key = "".join(map(chr, chance.choices(range(32, 127), k=seed)))
    code = sum(ord(one) * 31**place for place, one in enumerate(reversed(key))) % 2**32
    code -= code >> 31 << 32
    partitions, rule = chance.choice((1, 2, 7, 1000)), chance.choice(("mask", "abs"))
    number = code % 2**31 if rule == "mask" else abs(code)
    config = complete_config({"default-0.8.abs": rule}, PRODUCER_SETTINGS)
    chooser = make_partitioner("default-0.8", config, chance=Random(0), clock=ManualClock())
    cluster = ClusterMetadata.of_one_topic("orders", range(partitions))
    (choice,) = dry_run(chooser, [key], "orders", cluster, 78)
    asked = Asked("default-0.8", config, range(partitions), range(partitions), True)
    said = document(choice, asked).steps[0].say
    assert f" is {code}; " in said
    assert said.endswith(f" = {number}; {number} % {partitions} = {number % partitions}.")
