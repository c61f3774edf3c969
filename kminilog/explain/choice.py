"""Why a partitioner chose a partition: one choice as a document; `partition --explain` prints it.

    a key, by murmur2      the steps after the rounds of `step murmur2`
    a key, by hash code    one step: hash code, sign, modulo, and what happens without a leader
    all else               one step: the partitions to choose from, the rule, and each answer

Source: S0 4, 5 and 7; Kafka 0.8: DefaultPartitioner, DefaultEventHandler.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from kminilog.explain.document import Document
from kminilog.explain.murmur2 import result
from kminilog.explain.script import Script
from kminilog.format.java_hashing import ABS_RULES, java_hash
from kminilog.partitioners.dry_run import Choice
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.partitioners.keyed_rules import KEYED_RULES

STEPS = ("By the hash code", "By a rule")
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
    told = Script(__file__, "choice", STEPS, asked=asked, choice=choice)
    if asked.name == BY_HASH_CODE and choice.key is not None:
        code, rule = java_hash(choice.key), asked.config["default-0.8.abs"]
        number = ABS_RULES[rule](code)
        by_hash = number % len(asked.order)
        told.tell(
            "By the hash code",
            values={
                "hash code": code,
                "abs": rule,
                "not negative": number,
                "by the hash": by_hash,
                "available": _available(asked),
                "partition": choice.partition,
            },
            is_text=isinstance(choice.key, str),
            code=code,
            rule=rule,
            number=number,
            partitions=len(asked.order),
            by_hash=by_hash,
            has_leader=by_hash in asked.available,
            is_switch_on=asked.config[_SWITCH],
        )
    else:
        told.tell(
            "By a rule",
            values={
                "available": _available(asked),
                "rule": _rule(choice, asked),
                "answers": ", ".join(map(str, choice.answers)),
                "partition": choice.partition,
            },
        )
    return told.document()


def _available(asked: Asked) -> str:
    partitions = ", ".join(map(str, asked.available)) or "none, so any counts"
    return f"{partitions} (of {', '.join(map(str, asked.order))})"


def _rule(choice: Choice, asked: Asked) -> str:
    name = asked.name
    if name in RULES_WITHOUT_KEY:
        return RULES_WITHOUT_KEY[name]
    if not asked.is_old:
        return f"the answer of {name}"
    if choice.key is None:
        return f"{name} places only records with a key: {_OLD_RULE}"
    or_switched = "; if that has no leader, an available one at random"
    switched = or_switched if asked.config[_SWITCH] else ""
    return f"the answer of {name} to (key, {len(asked.order)}){switched}"
