"""What the course consists of: labs, their exercises, and the files that belong to them.

    labs/01_message/    lab.toml  starter.py  checks.py  wrong/  right/  en/  zh/

What is said in one language stands in the folder of that language (`catalogue`). A checkout has the
folder `labs` beside the package, an installed wheel inside it. Numbers of labs stay free for labs
to come. Source: ours.
"""

import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.errors import KMiniLogError

KINDS = ("predict", "read", "implement", "diagnose", "expose", "job")
WRONG, RIGHT = "wrong", "right"
_SECOND_LINES = {WRONG: "# reason: ", RIGHT: "# differs: "}
LABS = "KMINILOG_LABS"
"""The variable of the environment that names a labs folder of one's own."""
_FOLDER = re.compile(r"(\d\d)_([a-z_]+)")
_PACKAGE = Path(__file__).parents[1]


class UnknownLabError(KMiniLogError):
    """There is no lab, or no exercise, of that number; or it is a lab, and not an exercise."""

    def __init__(self, text: str, *, known: str, is_lab: bool = False) -> None:
        wrong = f"{text} is a whole lab" if is_lab else f"there is no lab or exercise {text}"
        super().__init__(f"{wrong}; there are {known}")


class NoLabsError(KMiniLogError):
    """A labs folder of one's own holds no lab."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder}: no labs here; name a folder that holds folders such as 01_message, each "
            "with a lab.toml"
        )


class MaterialError(KMiniLogError):
    """A file of a lab says something that the course does not know."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


@dataclass(frozen=True)
class Exercise:
    """One exercise, as `lab.toml` has it.

    implement   `symbol` is the function of the library that the student writes, `command` a command
                that calls it. `judge` says how the command's work is judged: by `verify`, perhaps
                "verify --partitioner NAME", or by comparing its output with the library's own
                ("same-output"). `dump` is a file that it writes, to be shown as Kafka's
                DumpLogSegments would. Without a symbol, `names` has one function that the library
                lacks: it replaces nothing in the engine, so unit checks alone judge it.
    read        `names` are constants in the answers, to be read off `file`
    diagnose    `names` has one constant; `faults` are the damages of which the seed chooses one:
                of a log, or of the answer of an assignor (`broken` is "log" or "assignment")
    expose      `names` has one constant: inputs that expose the wrong answers to the exercise with
                the number `of`. `left_out` are those that no input exposes: they differ in state,
                or in what they call.
    job         `names` has one function, which writes a topic with Spark; judged by what is there
    predict     a question with its answers; never graded
    """

    lab: int
    number: int
    kind: str
    minutes: int = 10
    points: int = 0
    core: bool = False
    symbol: str = ""
    command: str = ""
    judge: str = "verify"
    log: str = "empty"
    dump: str = ""
    names: tuple[str, ...] = ()
    file: str = ""
    faults: tuple[str, ...] = ()
    broken: str = "log"
    of: int = 0
    left_out: tuple[str, ...] = ()
    see: str = ""

    @property
    def id(self) -> str:
        """The exercise as students name it: `1.2`."""
        return f"{self.lab}.{self.number}"

    @property
    def is_graded(self) -> bool:
        """Whether it has points: a prediction never has."""
        return self.kind != "predict"

    @property
    def needs_spark(self) -> bool:
        """Whether its check starts Spark."""
        return self.kind == "job"

    @property
    def is_of_assignment(self) -> bool:
        """Whether an assignment is to be diagnosed, and not a log."""
        return self.broken == "assignment"

    @property
    def name(self) -> str:
        """The name of the function or class of the library that the student writes, or ""."""
        return self.symbol.rpartition(".")[2]

    @property
    def is_method(self) -> bool:
        """Whether the symbol is a method: the student writes it as a function with `self`."""
        return self.symbol.split(".")[-2:][0][:1].isupper()

    @property
    def library_command(self) -> str:
        """The command with the library's class in the place of the student's."""
        return self.command.replace(f"answers:{self.name}", f"kminilog.{self.symbol}")

    @property
    def answers(self) -> tuple[str, ...]:
        """The names in the student's file that belong to this exercise."""
        return (self.name,) if self.symbol else self.names


@dataclass(frozen=True)
class Lab:
    """One lab: a folder, and the exercises in it."""

    number: int
    folder: Path
    minutes: int
    step: str
    exercises: tuple[Exercise, ...]

    @property
    def work_name(self) -> str:
        """The name of the folder that a student works in."""
        return self.folder.name

    @property
    def core_minutes(self) -> int:
        """How long the core path takes."""
        return sum(exercise.minutes for exercise in self.exercises if exercise.core)

    @property
    def walk(self) -> list[Exercise]:
        """The exercises in the order in which they come: first the core path, then all else."""
        return sorted(self.exercises, key=lambda exercise: not exercise.core)

    @property
    def graded(self) -> list[Exercise]:
        """The exercises that have points."""
        return [exercise for exercise in self.exercises if exercise.is_graded]

    @property
    def core_graded(self) -> list[Exercise]:
        """The exercises of the core path that have points."""
        return [exercise for exercise in self.graded if exercise.core]

    @property
    def core_functions(self) -> list[Exercise]:
        """The exercises of the core path whose functions stand in for the library's."""
        return [exercise for exercise in self.exercises if exercise.core and exercise.symbol]

    @property
    def has_exam(self) -> bool:
        """Whether there are enough of these functions that an exam is more than a check of one."""
        return len(self.core_functions) > 1


class HeaderError(KMiniLogError):
    """A sample answer does not begin with its two lines."""

    def __init__(self, path: Path, second: str) -> None:
        super().__init__(f"{path}: begin with `# exercise: N` and `{second}…`")


class SampleAnswer(NamedTuple):
    """A file of `wrong/` or `right/`: the exercise that it answers, and what its second line says.

    That is the code that a wrong answer must get, or what is different in a right one.
    """

    path: Path
    number: int
    says: str

    @property
    def where(self) -> str:
        """The place that a flaw names: folder and file."""
        return f"{self.path.parent.name}/{self.path.name}"


def sample_answers(lab: Lab, kind: str) -> list[SampleAnswer]:
    """Return the answers in `wrong/` or `right/`; HeaderError for one without its two lines."""
    found = []
    for path in sorted((lab.folder / kind).glob("*.py")):
        lines = [*path.read_text(encoding="utf-8").splitlines(), "", ""]
        exercise = re.fullmatch(r"# exercise: (\d+)", lines[0])
        says = lines[1].removeprefix(_SECOND_LINES[kind]).strip()
        if not (exercise and says and lines[1].startswith(_SECOND_LINES[kind])):
            raise HeaderError(path, _SECOND_LINES[kind])
        found.append(SampleAnswer(path, int(exercise[1]), says))
    return found


def answers_to(exercise: Exercise, kind: str) -> list[Path]:
    """Return the files of `wrong/` or `right/` that answer an exercise."""
    samples = sample_answers(lab_of(exercise.lab), kind)
    return [each.path for each in samples if each.number == exercise.number]


def labs_folder() -> Path:
    """Return the folder with all labs: that of KMINILOG_LABS, else the course's own."""
    own = os.environ.get(LABS)
    return Path(own).absolute() if own else _own_labs()


def beside_labs(name: str) -> Path:
    """Return a folder beside the labs, such as `messages`; the course's own if there is none."""
    path = labs_folder() / name
    return path if path.is_dir() else _own_labs() / name


def _own_labs() -> Path:
    """Return the folder inside the installed package, or beside it."""
    inside = _PACKAGE / "labs"
    return inside if inside.is_dir() else _PACKAGE.parent / "labs"


def all_labs() -> tuple[Lab, ...]:
    """Return all labs that are there, by number; NoLabsError without any."""
    return _labs_in(labs_folder())


@cache
def _labs_in(folder: Path) -> tuple[Lab, ...]:
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    folders = [path for path in paths if _FOLDER.fullmatch(path.name)]
    labs = tuple(_read(path) for path in folders if (path / "lab.toml").is_file())
    if not labs:
        raise NoLabsError(folder)
    return labs


def lab_of(number: str | int) -> Lab:
    """Return the lab of a number; UnknownLabError if there is none."""
    for lab in all_labs():
        if str(lab.number) == str(number):
            return lab
    raise UnknownLabError(
        str(number), known="labs " + _listed([str(lab.number) for lab in all_labs()])
    )


def exercise_of(text: str) -> Exercise:
    """Return the exercise that `1.2` names; UnknownLabError if there is none."""
    lab = lab_of(text.partition(".")[0])
    for exercise in lab.exercises:
        if exercise.id == text:
            return exercise
    known = "exercises " + _listed([exercise.id for exercise in lab.exercises])
    raise UnknownLabError(text, known=known, is_lab=text == str(lab.number))


def target_of(exercise: Exercise) -> Exercise:
    """Return the exercise whose wrong answers are to be exposed."""
    return exercise_of(f"{exercise.lab}.{exercise.of}")


def checks_of(lab: Lab) -> dict[str, Any]:
    """Return what a lab's `checks.py` defines: `exercise_1`, …, `first_win`, `write_files`."""
    path = lab.folder / "checks.py"
    namespace: dict[str, Any] = {"__name__": "checks"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
    return namespace


def _read(folder: Path) -> Lab:
    path = folder / "lab.toml"
    try:
        text = tomllib.loads(path.read_text(encoding="utf-8"))
        number = int(folder.name[:2])
        log = text.get("log", "empty")
        entries = [{"log": log, **entry} for entry in text["exercise"]]
        exercises = tuple(_exercise(path, number, entry) for entry in entries)
        return Lab(number, folder, text["minutes"], text["step"], exercises)
    except KeyError as error:
        raise MaterialError(path, f"lacks {error}") from None
    except (ValueError, TypeError) as error:  # no TOML, or an exercise without what it needs
        raise MaterialError(path, str(error)) from None


def _exercise(path: Path, lab: int, entry: dict[str, Any]) -> Exercise:
    where = f"exercise {entry['number']}"
    known = {field.name for field in fields(Exercise)}
    unknown = sorted(set(entry) - known)
    if unknown:
        raise MaterialError(path, f"{where}: unknown: {_listed(unknown)}")
    if entry["kind"] not in KINDS:
        reason = f"{where}: unknown kind {entry['kind']!r}; use {_listed(KINDS)}"
        raise MaterialError(path, reason)
    if entry["kind"] == "implement" and len(entry.get("names", ())) + ("symbol" in entry) != 1:
        raise MaterialError(path, f"{where}: name one function, as symbol or in names")
    lists = {name: tuple(value) for name, value in entry.items() if isinstance(value, list)}
    return Exercise(lab=lab, **{**entry, **lists})


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
