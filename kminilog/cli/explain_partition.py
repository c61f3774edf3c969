"""`partition --explain`: why a partitioner chose a partition.

For a record with a key it shows the steps of the hash, computed again with the partitioner's
functions; for murmur2 that is the last step of `kminilog step murmur2`. For a record without a key
it shows the partitions to choose from and the rule.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kminilog.format.hashing import murmur2, to_positive
from kminilog.format.java_hashing import ABS_RULES, java_hash
from kminilog.partitioners.default_0_8 import Default08
from kminilog.partitioners.dry_run import Choice
from kminilog.partitioners.interface import Partitioner
from kminilog.plain_text import SHOWN_BYTES, count
from kminilog.steps.producer.murmur2 import result
from kminilog.steps.text import step_lines

_OLD_RULE = "the cached partition; if there is none, an available one at random, then cached"
_STICKY_RULE = "the same until a batch begins, then another available one at random"
RULES_WITHOUT_KEY = {
    "default-0.8": _OLD_RULE,
    "default-0.9": "the available ones in turn; one counter for all topics, started at random",
    "default-2.4": _STICKY_RULE,
    "built-in": "the same for about batch.size bytes, then any available one at random",
    "round-robin": "the available ones in turn; a counter for each topic, from 0",
    "uniform-sticky": _STICKY_RULE,
    "sticky-cache": _STICKY_RULE,
    "random": "any available one at random",
}
_MURMUR2 = ("default-0.9", "default-2.4", "built-in")


class Explanation:
    """Explains the choices of one partitioner among fixed partitions."""

    def __init__(
        self,
        name: str,
        partitioner: Partitioner,
        config: Mapping[str, Any],
        order: Sequence[int],
        available: Sequence[int],
    ) -> None:
        self._name = name
        self._is_old = isinstance(partitioner, Default08)
        self._config = config
        self._order = list(order)
        self._available = list(available)

    def fields(self, choice: Choice) -> dict[str, Any]:
        """Return the JSON fields that explain a choice."""
        if self._is_by_murmur2(choice) and choice.key_bytes is not None:
            hashed = murmur2(choice.key_bytes)
            return {"murmur2": hashed, "to_positive": to_positive(hashed)}
        if self._is_by_hash_code(choice):
            code, rule, number, by_hash = self._hash_code_steps(choice)
            steps = {"hash_code": code, "abs": rule, "non_negative": number, "by_hash": by_hash}
            return {**steps, "available": self._available}
        rule = self._rule(choice)
        return {"available": self._available, "rule": rule, "answers": list(choice.answers)}

    def lines(self, choice: Choice) -> list[str]:
        """Return the lines of text that explain a choice."""
        if self._is_by_murmur2(choice) and choice.key_bytes is not None:
            return list(self._murmur2_lines(choice, choice.key_bytes))
        if self._is_by_hash_code(choice):
            return self._hash_code_lines(choice)
        lines = [self._available_line(), f"    rule         {self._rule(choice)}"]
        if len(choice.answers) > 1:
            lines.append(
                f"    new batch    partition {choice.answers[0]} was first; it has no open batch "
                f"with room: asked again, {choice.partition}"
            )
        return lines

    def _is_by_murmur2(self, choice: Choice) -> bool:
        ignores_keys = self._name == "built-in" and self._config["partitioner.ignore.keys"]
        return self._name in _MURMUR2 and choice.key_bytes is not None and not ignores_keys

    def _is_by_hash_code(self, choice: Choice) -> bool:
        return self._name == "default-0.8" and choice.key is not None

    def _hash_code_steps(self, choice: Choice) -> tuple[int, str, int, int]:
        code = java_hash(choice.key)
        rule = self._config["default-0.8.abs"]
        number = ABS_RULES[rule](code)
        return code, rule, number, number % len(self._order)

    def _rule(self, choice: Choice) -> str:
        if self._name in RULES_WITHOUT_KEY:
            return RULES_WITHOUT_KEY[self._name]
        if not self._is_old:
            return f"what {self._name} answers"
        if choice.key is None:
            return f"{self._name} is not asked without a key: {_OLD_RULE}"
        return f"what {self._name} answers to (key, {len(self._order)}){self._or_switched()}"

    def _or_switched(self) -> str:
        is_on = self._config["send.switch.broker.enable"]
        return "; if that has no leader, an available one at random" if is_on else ""

    def _available_line(self) -> str:
        partitions = ", ".join(map(str, self._available)) or "none, so any counts"
        return f"    available    {partitions} (of {', '.join(map(str, self._order))})"

    def _murmur2_lines(self, choice: Choice, key: bytes) -> Iterator[str]:
        partitions = len(self._order)
        yield _bytes_line(key)
        hashed = result(key, partitions)
        told = step_lines(hashed, hashed.steps[-1]._replace(ask=None))
        yield from (f"    {line}" for line in told if line)
        if isinstance(choice.key, str) and choice.key.isprintable() and len(key) <= SHOWN_BYTES:
            quoted = shlex.quote(choice.key)
            command = f"kminilog step murmur2 --key {quoted} --partitions {partitions}"
            yield f"    Round by round: {command}"

    def _hash_code_lines(self, choice: Choice) -> list[str]:
        code, rule, number, by_hash = self._hash_code_steps(choice)
        java = "String.hashCode" if isinstance(choice.key, str) else "Arrays.hashCode of the bytes"
        how = f"{code} & 0x7fffffff" if rule == "mask" else f"abs({code})"
        lines = [
            f"    hash code    {java} = {code}",
            f"    {rule:<12} {how} = {number}",
            f"    modulo       {number} % {len(self._order)} = {by_hash}",
        ]
        if by_hash not in self._available:
            lines.append(self._no_leader_line(by_hash, choice.partition))
        return lines

    def _no_leader_line(self, by_hash: int, chosen: int) -> str:
        if self._config["send.switch.broker.enable"]:
            others = ", ".join(map(str, self._available))
            return f"    failover     {by_hash} has no leader: one of {others} at random, {chosen}"
        return f"    no leader    {by_hash} all the same: send.switch.broker.enable is off"


def _bytes_line(key: bytes) -> str:
    return f"    {count(len(key), 'byte')}: {key.hex(' ') or 'none, and still a key'}"
