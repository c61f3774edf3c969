"""Pairs of answers that are alike, whatever their names, strings and layout.

    names, strings, layout   do not count: of code only its tokens stay, every name alike
    k-grams                  each run of TOKENS_OF_GRAM tokens has a hash
    winnowing                of each GRAMS_OF_WINDOW hashes in a row the least is a fingerprint

So two functions that share a run of tokens as long as both numbers together share a fingerprint,
wherever the run stands, and few hashes are kept. What all have does not count: the starter, the
checks, the examples of the README and the course's own function. Nothing is run. Source: Schleimer,
Wilkerson and Aiken, "Winnowing: Local Algorithms for Document Fingerprinting", 2003; it is the
method of MOSS.
"""

import io
import keyword
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple
from zlib import crc32

from kminilog.course.answers import ANSWERS_FILE
from kminilog.course.catalogue import Catalogue, languages
from kminilog.course.material import Lab, MaterialError
from kminilog.course.teaching.starter import source_of
from kminilog.course.teaching.submissions import HandedIn

TOKENS_OF_GRAM = 8
GRAMS_OF_WINDOW = 4
_LEAST_SHARED = 8  # fingerprints: shorter answers are alike by chance
_LEAST_SHARE = 0.6  # of those of the shorter answer
_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_BRACKETS = ("(", ")")  # one more pair changes nothing
_LAYOUT = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
)


class CodePlace(NamedTuple):
    """Where a function stands that a student has handed in."""

    student: str
    file: str
    function: str
    line: int
    last_line: int


class Pair(NamedTuple):
    """Two functions that are alike; `share` is that of the fingerprints of the shorter one."""

    lab: int
    share: float
    first: CodePlace
    second: CodePlace


class StudentCluster(NamedTuple):
    """Students each of whom is in a pair with another one of them, for one lab."""

    lab: int
    students: list[str]
    pairs: list[Pair]

    @property
    def alike(self) -> int:
        """How many pairs of students are alike; in a clique each one is with each other."""
        return len({(pair.first.student, pair.second.student) for pair in self.pairs})


class _Token(NamedTuple):
    kind: str
    text: str
    line: int
    is_at_margin: bool  # the first of a statement that no function holds


class _Function(NamedTuple):
    place: CodePlace
    prints: frozenset[int]


def similar_pairs(handed_in: Iterable[HandedIn]) -> list[Pair]:
    """Return the pairs of functions of different students for the same lab.

    Those of two students stand together; who have the most come first. A file that cannot be read
    has none; of one that is no Python, what stands before the fault.
    """
    by_lab = defaultdict(list)
    for work in handed_in:
        by_lab[work.lab].append(work)
    by_students = defaultdict(list)
    for lab, works in by_lab.items():
        common = _common_grams(lab)
        functions = [each for work in works for each in _functions_of(work, common)]
        for one, other in combinations(functions, 2):
            students = one.place.student, other.place.student
            share = _share(one, other)
            if share and students[0] != students[1]:
                pair = Pair(lab.number, share, one.place, other.place)
                by_students[students, lab.number].append(pair)
    most_first = sorted(by_students, key=lambda key: (-len(by_students[key]), key))
    return [pair for key in most_first for pair in by_students[key]]


def clusters_of(pairs: Iterable[Pair]) -> list[StudentCluster]:
    """Return pairs by the students that they connect; the largest cluster comes first."""
    found: list[StudentCluster] = []
    for pair in pairs:
        both = {pair.first.student, pair.second.student}
        met = [each for each in found if each.lab == pair.lab and both & {*each.students}]
        found = [each for each in found if each not in met]
        students = both.union(*(each.students for each in met))
        own = [pair for each in met for pair in each.pairs]
        found.append(StudentCluster(pair.lab, sorted(students), [*own, pair]))
    return sorted(found, key=lambda each: (-len(each.students), each.lab, each.students))


def _share(one: _Function, other: _Function) -> float:
    """Return how much of the shorter function the other one has; 0 for too little."""
    shared = len(one.prints & other.prints)
    if shared < _LEAST_SHARED:
        return 0
    share = shared / min(len(one.prints), len(other.prints))
    return share if share >= _LEAST_SHARE else 0


def _functions_of(work: HandedIn, common: set[int]) -> Iterator[_Function]:
    try:
        text = work.files().get(ANSWERS_FILE, b"").decode("utf-8-sig", "replace")
    except OSError:
        return
    for tokens in _functions(_tokens(text)):
        prints = frozenset(_winnowed(_grams(tokens))) - common
        name = tokens[1].text if len(tokens) > 1 else ""
        place = CodePlace(
            work.student, f"{work.shown}/{ANSWERS_FILE}", name, tokens[0].line, tokens[-1].line
        )
        yield _Function(place, prints)


def _common_grams(lab: Lab) -> set[int]:
    """Return the hashes of all code that a student may have without having copied it."""
    texts = [
        (lab.folder / name).read_text(encoding="utf-8") for name in ("starter.py", "checks.py")
    ]
    for language in languages():
        texts += _EXAMPLE.findall(Catalogue(language).readme(lab).read_text(encoding="utf-8"))
    for exercise in lab.exercises:
        if exercise.kind == "implement":
            try:
                texts.append(source_of(exercise))
            except MaterialError:  # a release of the labs has no right answers
                continue
    return {gram for text in texts for gram in _grams(list(_tokens(text)))}


# ---- tokens, k-grams, fingerprints


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the tokens of a program, without layout and strings that stand alone, as a docstring.

    >>> [each.kind for each in _tokens("def f(x):\\n    'doc'\\n    return x + 1  # why")]
    ['def', 'name', 'name', ':', 'return', 'name', '+', '1']
    """
    is_first = True  # of a statement
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in _LAYOUT or token.string in _BRACKETS:
                is_first = is_first or token.type == tokenize.NEWLINE
                continue
            kind = token.string
            if token.type == tokenize.STRING:
                kind = "string"
            elif token.type == tokenize.NAME and not keyword.iskeyword(kind):
                kind = "name"
            if not (is_first and kind == "string"):
                line, column = token.start
                yield _Token(kind, token.string, line, is_first and column == 0)
            is_first = False
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def _functions(tokens: Iterable[_Token]) -> list[list[_Token]]:
    """Return the tokens of each function, from its `def` to the next one or to the margin."""
    found: list[list[_Token]] = []
    is_inside = False
    for token in tokens:
        if token.kind == "def":
            found.append([])
        is_inside = token.kind == "def" or (is_inside and not token.is_at_margin)
        if is_inside:
            found[-1].append(token)
    return found


def _grams(tokens: Sequence[_Token]) -> list[int]:
    kinds = [token.kind for token in tokens]
    return [
        crc32("\0".join(kinds[first : first + TOKENS_OF_GRAM]).encode())
        for first in range(len(kinds) - TOKENS_OF_GRAM + 1)
    ]


def _winnowed(grams: Sequence[int]) -> set[int]:
    """Return the fingerprints: the least hash of each window.

    >>> sorted(_winnowed([77, 74, 42, 17, 98, 50, 17, 98, 8, 88, 67, 39, 77, 74, 42, 17, 98]))
    [8, 17, 39]
    """
    windows = range(max(1, len(grams) - GRAMS_OF_WINDOW + 1))
    return {min(grams[first : first + GRAMS_OF_WINDOW]) for first in windows if grams}
