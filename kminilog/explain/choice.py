"""Why a partitioner chose a partition: one choice as a document; `partition --explain` prints it.

    a key, by murmur2      the steps after the rounds of `step murmur2`
    a key, by hash code    one step: hash code, sign, modulo, and what happens without a leader
    all else               one step: the partitions to choose from, the rule, and each answer

`step sticky` says of its sends what is said here. Source: S0 4, 5 and 7; Kafka 0.8:
DefaultPartitioner, DefaultEventHandler.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kminilog.explain.document import Document, Value
from kminilog.explain.murmur2 import result
from kminilog.explain.recording import Recording
from kminilog.format.java_hashing import ABS_RULES, java_hash
from kminilog.partitioners.dry_run import Choice
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.partitioners.keyed_rules import KEYED_RULES

BY_MURMUR2 = [name for name, rule in KEYED_RULES.items() if rule is murmur2_partition]
BY_HASH_CODE = "default-0.8"
_SWITCH = "send.switch.broker.enable"
_OLD_RULE = (
    "the cached partition; if there is none, an available one at random, which is then cached"
)
_STICKY_RULE = "the same until a batch begins, then another available one at random"
RULES_WITHOUT_KEY = {
    BY_HASH_CODE: _OLD_RULE,
    "default-0.9": "the available ones in turn; one counter for all topics, started at random",
    "default-2.4": _STICKY_RULE,
    "built-in": "the same for about batch.size bytes, then any available one at random",
    "round-robin": "the available ones in turn; a counter for each topic, from 0",
    "uniform-sticky": _STICKY_RULE,
    "sticky-cache": _STICKY_RULE,
    "random": "any available one at random",
}


class Asked(NamedTuple):
    """The partitioner that was asked, its settings, all partitions in order, and those available.

    `is_old` tells that it has the interface of Kafka 0.8, for (key, partitions).
    """

    name: str
    config: Mapping[str, Any]
    order: Sequence[int]
    available: Sequence[int]
    is_old: bool = False

    def hashes_bytes(self, choice: Choice) -> bool:
        """Tell if the choice goes by murmur2 of the key's bytes."""
        ignores_keys = self.name == "built-in" and self.config["partitioner.ignore.keys"]
        return self.name in BY_MURMUR2 and choice.key_bytes is not None and not ignores_keys


def document(choice: Choice, asked: Asked) -> Document:
    """Return the document of a choice; its last state has `partition`, where the record goes."""
    if asked.hashes_bytes(choice) and choice.key_bytes is not None:
        return result(choice.key_bytes, len(asked.order))
    recording = Recording("choice", f"{asked.name}: from a record to its partition")
    if asked.name == BY_HASH_CODE and choice.key is not None:
        _say_hash_code(recording, choice, asked)
    else:
        _say_rule(recording, choice, asked)
    return recording.document()


def asked_again(name: str, choice: Choice) -> str:
    """Return what is said of a choice with two answers, because a batch must begin."""
    one, other = choice.answers
    return (
        f"{name} chose partition {one} first, where no batch has room. The producer asked again, "
        f"and it chose partition {other}."
    )


def _say_hash_code(recording: Recording, choice: Choice, asked: Asked) -> None:
    code, rule = java_hash(choice.key), asked.config["default-0.8.abs"]
    number, partitions = ABS_RULES[rule](code), len(asked.order)
    by_hash = number % partitions
    java = (
        "String.hashCode of the text"
        if isinstance(choice.key, str)
        else "Arrays.hashCode of the bytes"
    )
    how = f"{code} & 0x7fffffff" if rule == "mask" else f"abs({code})"
    said = f"{java} is {code}; {how} = {number}; {number} % {partitions} = {by_hash}."
    if by_hash not in asked.available:
        on = f"on, so the record goes to an available one at random: {choice.partition}"
        off = "off, so the record goes there all the same"
        said += f" That one has no leader. {_SWITCH} is {on if asked.config[_SWITCH] else off}."
    values: dict[str, Value] = {"hash code": code, "abs": rule, "not negative": number}
    values |= {"by the hash": by_hash, "available": _available(asked)}
    recording.step(said, values={**values, "partition": choice.partition})


def _say_rule(recording: Recording, choice: Choice, asked: Asked) -> None:
    said = f"The rule chooses partition {choice.partition}."
    if len(choice.answers) > 1:
        said = asked_again(asked.name, choice)
    recording.step(
        said,
        values={
            "available": _available(asked),
            "rule": _rule(choice, asked),
            "answers": ", ".join(map(str, choice.answers)),
            "partition": choice.partition,
        },
    )


def _available(asked: Asked) -> str:
    partitions = ", ".join(map(str, asked.available)) or "none, so any counts"
    return f"{partitions} (of {', '.join(map(str, asked.order))})"


def _rule(choice: Choice, asked: Asked) -> str:
    name = asked.name
    if name in RULES_WITHOUT_KEY:
        return RULES_WITHOUT_KEY[name]
    if not asked.is_old:
        return f"what {name} answers"
    if choice.key is None:
        return f"{name} is not asked without a key: {_OLD_RULE}"
    or_switched = "; if that has no leader, an available one at random"
    switched = or_switched if asked.config[_SWITCH] else ""
    return f"what {name} answers to (key, {len(asked.order)}){switched}"
