"""A report as text for a terminal: the equation, the findings, the verdict and the totals.

Below each class of findings are its samples, each with its place, its fault, its record beside its
message, and the command that shows it. What differs is marked:

    key    both     "alice"
    value  source   "order 13 of alice"
                           ^
           message  "order 17 of alice"
                           ^

After the findings, the report lists what was checked and what was not. What could deceive a
terminal is escaped. Source: ours.
"""

import re
from collections.abc import Iterator, Sequence

from kminilog.text import (
    BAD,
    COMMAND,
    DOUBTFUL,
    FIT_COLUMNS,
    GOOD,
    QUIET,
    Span,
    StyledText,
    columns,
    count,
    printable,
    wrap,
)
from kminilog.verification.both_sides import BothSides, Excerpt
from kminilog.verification.coverage import Unchecked
from kminilog.verification.results import ClassFindings, Results, equation, totals

_MEANINGS = {"error": BAD, "warning": DOUBTFUL, "ok": GOOD, "findings": BAD, "partial": DOUBTFUL}
_HEAD = 24  # columns in front of a key or value, or more
_AROUND = 20  # columns of its quotes, dots and size
_LEAST_BYTES = 8
_SHOWN_UNCHECKED = 3  # a broker may have thousands of partitions
_MORE = "… "


def report_lines(results: Results, width: int = FIT_COLUMNS) -> Iterator[str]:
    """Yield the report as lines, the verdict last; parts of a line know what they mean.

    >>> print(*report_lines(Results({})), sep="|")
    verdict: ok; no findings in 0 partitions, 0 segments, 0 whole messages, 0 bytes
    """
    if results.conservation:
        holds = results.conservation["holds"]
        yield StyledText(Span(equation(results.conservation), "" if holds else BAD))
    classes = results.found()
    heads = [(found.kind.value, found.kind.severity, str(found.total)) for found in classes]
    widths = [max(map(len, column)) for column in zip(*heads, strict=True)]
    for found, (name, severity, number) in zip(classes, heads, strict=True):
        head = f"{name:{widths[0]}}  {severity:{widths[1]}}  {number:>{widths[2]}}"
        if found.is_allowed:
            yield StyledText(Span(f"{head}  allowed", QUIET))
        else:
            yield StyledText(Span(head, _MEANINGS[severity]))
        yield from _samples(results, found, width)
    yield from results.readable()
    if results.checked:
        yield f"checked: {', '.join(results.checked)}"
    for why, partitions in results.scope.get("since_last", {}).get("not_trusted", {}).items():
        yield f"not on trust: {count(partitions, 'partition')}: {printable(why)}"
    yield from _unchecked(results.unchecked, width)
    verdict = Span(results.verdict, _MEANINGS[results.verdict])
    yield StyledText("verdict: ", verdict, f"; {totals_line([results])}")


def _unchecked(unchecked: Sequence[Unchecked], width: int) -> Iterator[str]:
    """Yield what was not checked; some places of the same reason, and how many there are more.

    Reasons that differ in their numbers only are the same.
    """
    alike: dict[tuple[str | bool | None, ...], list[Unchecked]] = {}
    for one in unchecked:
        reason = re.sub(r"\d+", "", one.why)
        alike.setdefault((one.what, one.option, one.asked, reason), []).append(one)
    for several in alike.values():
        for one in several[:_SHOWN_UNCHECKED]:
            line = f"not checked: {printable(one.in_words())}"
            if one.asked:  # it says why not, perhaps with a path: that stays on its line
                yield line
            else:
                yield from wrap(line, width, later="    ")
        if len(several) > _SHOWN_UNCHECKED:
            yield f"    and {len(several) - _SHOWN_UNCHECKED} more; --json names each"


def totals_line(reports: Sequence[Results]) -> str:
    """Return how many findings some reports have, of each severity, and in how much.

    >>> totals_line([])
    'no findings in 0 partitions, 0 segments, 0 whole messages, 0 bytes'
    """
    numbers: dict[str, int] = {}
    for found in [found for results in reports for found in results.found()]:
        numbers[found.rank] = numbers.get(found.rank, 0) + found.total
    said = [f"{n} allowed" if name == "allowed" else count(n, name) for name, n in numbers.items()]
    held = totals([partition for results in reports for partition in results.partitions])
    in_all = ", ".join(f"{number} {unit}" for number, unit in held)
    return f"{', '.join(said) or 'no findings'} in {in_all}"


def _samples(results: Results, found: ClassFindings, width: int) -> Iterator[str]:
    for sample in found.uncaused:
        yield f"    {printable(sample.place)}: {printable(sample.detail)}"
        yield from side_lines(sample.sides, " " * 8, width)
        yield StyledText("        ", Span(results.command(sample), COMMAND))
        for one in results.consequences(sample):
            link = one.cause.link if one.cause else ""
            yield f"        {link}: {one.kind}: {printable(one.place)}: {printable(one.detail)}"
            yield from side_lines(one.sides, " " * 12, width)
    if caused := len(found.samples) - len(found.uncaused):
        causes = "the finding that caused it" if caused == 1 else "the findings that caused them"
        yield f"    {caused} listed under {causes}"
    if found.total > len(found.samples):
        yield f"    and {found.total - len(found.samples)} more"


def side_lines(sides: BothSides, indent: str, width: int = FIT_COLUMNS) -> Iterator[str]:
    """Yield the record beside the message; nothing if there is neither."""
    before = ""
    for name, side, excerpt in sides.fields():
        head = f"{indent}{'' if name == before else name:5}  {side:7}  "
        room = width - max(columns(head), _HEAD) - _AROUND
        yield from _excerpt_lines(head, excerpt, max(room, _LEAST_BYTES))
        before = name
    if sides.not_shown:
        yield f"{indent}{printable(sides.not_shown)}"


def _excerpt_lines(head: str, whole: Excerpt, limit_bytes: int) -> Iterator[str]:
    if whole.data is None:
        yield f"{head}null"
        return
    excerpt = whole.shortened(limit_bytes)
    front, marked, after = excerpt.escaped_parts
    opening = f'{_MORE if excerpt.is_cut_in_front else ""}"'
    closing = f'"{" …" if excerpt.is_cut_after else ""}'
    size = ""
    if excerpt.is_cut_in_front or excerpt.is_cut_after:
        size = f" ({count(excerpt.size_bytes, 'byte')})"
    yield StyledText(Span(head, QUIET), opening + front, Span(marked, BAD), after + closing + size)
    if excerpt.differs is not None:
        yield " " * columns(head + opening + front) + "^" * max(columns(marked), 1)
