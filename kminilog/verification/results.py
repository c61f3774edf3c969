"""What a verification has found out, and the verdict on it, before anyone shows it.

    findings   there is a finding whose class is not allowed              exit code 1
    partial    no such finding, but a check that was asked is missing     exit code 2
    ok         no such finding, and all checks that were asked are done   exit code 0

Text (text_report.py) and page (html_report.py) show the same things in the same order: errors, then
warnings, then allowed classes. A sample whose cause is another sample comes below that one. A check
of the storage and a comparison with a source have the same kind of results. Only the latter have a
`conservation`, the equation that accounts for every record. Source: ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kminilog.text import noun
from kminilog.verification.commands import showing_command
from kminilog.verification.conservation import LEFT_SIDE, RIGHT_SIDE
from kminilog.verification.coverage import Unchecked
from kminilog.verification.findings import Aspect, Finding, FindingClass, FindingKind, Tally
from kminilog.verification.summaries import readable_in_words

_TOTALS = (("segment_count", "segment"), ("message_count", "whole message"), ("size_bytes", "byte"))


def concluded(
    found: Iterable[FindingKind],
    allowed: Iterable[FindingKind],
    unchecked: Iterable[Unchecked],
) -> tuple[str, int]:
    """Return the verdict and the exit code: "findings" and 1, "partial" and 2, or "ok" and 0.

    `found` are the classes of all findings, `allowed` those that the user allows, `unchecked` what
    was not checked; what the user asked for is `asked`.

    >>> concluded([FindingClass.EXTRA], [], []), concluded([FindingClass.EXTRA], FindingClass, [])
    (('findings', 1), ('ok', 0))
    """
    if {*found} - {*allowed}:
        return "findings", 1
    return ("partial", 2) if any(one.asked for one in unchecked) else ("ok", 0)


class ClassFindings(NamedTuple):
    """All findings of one class: how many there are, and the first of them."""

    kind: FindingKind
    total: int
    samples: Sequence[Finding]
    is_allowed: bool

    @property
    def rank(self) -> str:
        """ "error" or "warning"; "allowed", if the user allows it."""
        return "allowed" if self.is_allowed else self.kind.severity

    @property
    def uncaused(self) -> list[Finding]:
        """The samples that come from no other finding; the others are shown below those."""
        return [sample for sample in self.samples if not sample.cause]


@dataclass
class Results:
    """What was checked, what was found, and what was not checked.

    `classes` is the table of what can be found. `seconds` is how long the verification took; None
    if it was not measured.
    """

    scope: dict[str, Any]
    conservation: dict[str, Any] = field(default_factory=dict)
    partitions: list[dict[str, Any]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    checked: list[Aspect] = field(default_factory=list)
    unchecked: list[Unchecked] = field(default_factory=list)
    allowed: frozenset[FindingKind] = frozenset()
    classes: type[FindingKind] = FindingClass
    seconds: float | None = None

    @property
    def verdict(self) -> str:
        """One of "ok", "findings" and "partial"; the module says which when."""
        return concluded(self.tally.counts(), self.allowed, self.unchecked)[0]

    @property
    def exit_code(self) -> int:
        """The exit code for the verdict: 0, 1 or 2."""
        return concluded(self.tally.counts(), self.allowed, self.unchecked)[1]

    @property
    def can_be_tried_again(self) -> bool:
        """Whether the same verification may end otherwise if it is tried again: something has
        moved under it."""
        return self.verdict == "partial" and any(
            one.asked and one.may_pass for one in self.unchecked
        )

    def readable(self) -> list[str]:
        """Return how far each partition with damage can be read, as lines."""
        told = [(p, readable_in_words(p)) for p in self.partitions]
        return [f"{p['topic']}-{p['partition']}: {words}" for p, words in told if words]

    def found(self) -> list[ClassFindings]:
        """Return the findings class by class: errors, warnings, then allowed ones."""
        classes = [
            ClassFindings(kind, count, self.tally.samples(kind), kind in self.allowed)
            for kind, count in self.tally.counts().items()
        ]
        return sorted(classes, key=lambda found: (found.is_allowed, found.kind.severity))

    def consequences(self, sample: Finding) -> list[Finding]:
        """Return the samples whose certain or possible cause is this one."""
        return [
            other
            for kind in self.tally.counts()
            for other in self.tally.samples(kind)
            if other.cause and (other.cause.kind, other.cause.place) == (sample.kind, sample.place)
        ]

    def command(self, sample: Finding) -> str:
        """Return the command that shows a sample."""
        return showing_command(sample, self.scope)


def totals(partitions: Sequence[Mapping[str, Any]]) -> list[tuple[int, str]]:
    """Return how much partitions hold, as `verify --json` has them: numbers with their units.

    >>> totals([{"segment_count": 1, "message_count": 2, "size_bytes": 60}])
    [(1, 'partition'), (1, 'segment'), (2, 'whole messages'), (60, 'bytes')]
    """
    sums = [(sum(part[name] for part in partitions), unit) for name, unit in _TOTALS]
    counted = [(len(partitions), "partition"), *sums]
    return [(number, noun(unit, number)) for number, unit in counted]


def equation(conservation: Mapping[str, Any]) -> str:
    """Return the conservation equation of a source as one line.

    >>> counts = dict(source=9, stored=8, missing=2, extra=0, duplicate=1, rejected=0, altered=3)
    >>> print(equation({**counts, "holds": True}))
    source 9 + extra 0 + duplicate 1 = stored 8 + rejected 0 + missing 2 (altered 3)
    """
    left, right = (
        " + ".join(f"{name} {conservation[name]}" for name in side)
        for side in (LEFT_SIDE, RIGHT_SIDE)
    )
    altered = f" (altered {conservation['altered']})" if conservation["altered"] else ""
    return f"{left} {'=' if conservation['holds'] else '≠'} {right}{altered}"
