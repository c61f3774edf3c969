"""One table in docs/architecture.md: the architecture, the import rule, and the reading order.

A module imports only rooms listed above it there, so cycles cannot exist. A name in a string
counts, too: it is imported later, or by another process. So do the imports of labs' checks, which
`course` loads. What a module itself may touch is bound by its kind. What a reading is made of is
bound by its stars.
"""

import ast
import itertools
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import pytest

import kminilog

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "kminilog"
ROW = re.compile(r"\| (?:★+ )?`([a-z0-9_.*]+)` \| (pure|core|file|edge) \| (.+) \|")
STARS = {"★", "★★", "★★★"}
READING = re.compile(r"\n## (★+) (.+?)(?=\n## )", re.DOTALL)
LISTED = re.compile(r"^\d+\. `([a-z0-9_.]+)`: ", re.MULTILINE)
MARK = re.compile(r"^\| (★+) `([a-z0-9_.]+)` \|", re.MULTILINE)
DOOR = re.compile(r"^\| `([a-z0-9_.]+)` \| ", re.MULTILINE)
CLOCK = {"time", "datetime", "random", "sched", "asyncio"}
FILES = {"os", "io", "pathlib", "shutil", "tempfile", "glob", "fcntl", "mmap", "sys", "logging"}
COLUMNS = {"numpy", "pyarrow", "isal"}  # of these too, whatever their kind:
WIDTHS = "rich.cells"  # how many columns a character takes: a table, no terminal
IN_COLUMNS = ("columns.", "jobs.", "verification.account.", "verification.fast_")
UNPACKING = "broker_files.codecs"  # it loads pyarrow when it decompresses
TWINS = "columns.twins"  # it loads arrays when it is asked for what needs them
IN_SPARK = ("jobs.spark.", "verification.account.spark")
SPARK = {"pyspark", "pandas"} | COLUMNS
EDGE = {"click", "rich", "subprocess", "multiprocessing", "socket"} | SPARK
CLOSED_TO = {
    "pure": FILES | CLOCK | EDGE | {"threading"},
    "core": FILES | CLOCK | EDGE,
    "file": CLOCK | EDGE | {"threading"},
    "edge": set[str](),
}


PROPERTIES = {"property", "cached_property"}


class Room(NamedTuple):
    name: str
    kind: str
    is_to_come: bool


def read_floor_plan() -> list[Room]:
    text = (PROJECT / "docs" / "architecture.md").read_text()
    return [Room(name, kind, "(to come)" in idea) for name, kind, idea in ROW.findall(text)]


def rows_of_the_table(page: str) -> list[str]:
    """Return the rows of the floor plan, without its head: all tables of its section."""
    section = page.split("\n## The floor plan\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def rows_of_no_room(page: str) -> list[str]:
    return [row for row in rows_of_the_table(page) if not ROW.fullmatch(row)]


def lists_to_read() -> dict[str, list[str]]:
    """Return the modules of each reading, in the order of its list."""
    return {stars: LISTED.findall(text) for stars, text in READING.findall(READ_THE_CODE)}


ROOMS = read_floor_plan()
READ_THE_CODE = (PROJECT / "docs" / "read-the-code.md").read_text()
BUILT = [room.name for room in ROOMS if not room.is_to_come]
KINDS = {room.name: room.kind for room in ROOMS}
READINGS = {room: stars for stars, rooms in lists_to_read().items() for room in rooms}
DOORS = DOOR.findall(READ_THE_CODE.split("\n## Doors\n")[1])
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.stem != "__init__"]
ROOT = PACKAGE / "__init__.py"
INITS = sorted(set(PACKAGE.rglob("__init__.py")) - {ROOT})
LABS = sorted(PROJECT.glob("labs/*/checks.py"))


def room_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def imports_of(nodes: list[ast.stmt] | list[ast.AST]) -> set[str]:
    """Return the modules that some statements import, as `kminilog.format.names`."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write absolute imports, so that this test can see them"
            assert node.module is not None
            found.add(node.module)
            # `from kminilog.cli import output` imports a module, too.
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name in names if name.removeprefix("kminilog.") in KINDS}
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def all_imports(path: Path) -> set[str]:
    return imports_of(list(ast.walk(ast.parse(path.read_text()))))


def named_in_strings(code: str) -> set[str]:
    """Return the rooms whose names stand in strings, as `kminilog.format.names`.

    Where a module makes the names of others, as in f"kminilog.cli.{name}", each of its strings may
    be such a name.
    """
    tree = list(ast.walk(ast.parse(code)))
    strings = [node.value for node in tree if isinstance(node, ast.Constant)]
    texts = {text for text in strings if isinstance(text, str)} - {"__main__"}  # is itself
    made = [node.values[0] for node in tree if isinstance(node, ast.JoinedStr) and node.values]
    starts = {str(part.value) for part in made if isinstance(part, ast.Constant)}
    starts = {start for start in starts if start.startswith("kminilog.")}
    whole = texts | {f"{start}{text}" for start in starts for text in texts}
    rooms = {f"kminilog.{room}" for room in BUILT}
    return whole & rooms


def imports_at_module_level(path: Path) -> set[str]:
    return imports_of(ast.parse(path.read_text()).body)


def folder_of(room: str) -> str:
    return room.rpartition(".")[0] or room


def uses_of_folders() -> dict[str, set[str]]:
    """Return which folders each folder uses, by imports and by names in strings; `labs`, too."""
    uses: dict[str, set[str]] = {}
    for path in [*MODULES, *LABS]:
        folder = "labs" if path in LABS else folder_of(room_of(path))
        names = all_imports(path) | named_in_strings(path.read_text())
        rooms = {name.removeprefix("kminilog.") for name in names} & KINDS.keys()
        uses.setdefault(folder, set()).update(set(map(folder_of, rooms)) - {folder})
    return uses


def circles(uses: dict[str, set[str]]) -> set[tuple[str, str]]:
    """Return the pairs of folders that use each other, be it by way of others."""
    reached = {folder: set(used) for folder, used in uses.items()}
    for between, folder in itertools.product(reached, reached):
        if between in reached[folder]:
            reached[folder] |= reached[between]
    pairs = itertools.combinations(sorted(reached), 2)
    return {(a, b) for a, b in pairs if b in reached[a] and a in reached[b]}


def broken_rules(room: str, kind: str, imported: set[str], called: set[str]) -> list[str]:
    """Return what a module of this room may not import or call, by the table alone."""
    above = BUILT[: BUILT.index(room)]
    broken = []
    for name in sorted(imported - {WIDTHS}):
        top, _, other = name.partition(".")
        may_load_columns = room.startswith((*IN_COLUMNS, UNPACKING))
        if top in CLOSED_TO[kind] and not (top in COLUMNS and may_load_columns):
            broken.append(f"{room} is {kind} and must not import {name}")
        if top == "kminilog" and other in KINDS and other not in above:
            broken.append(f"{room} must not import {other}, which stands below it")
        if top == "kminilog" and other not in KINDS:
            broken.append(f"{room} must import a room, not the package {name}")
        if top == "kminilog" and {room.split(".")[0], other.split(".")[0]} == SIBLINGS:
            broken.append(f"{room} must not import {other}: siblings")
    if "print" in called and not room.startswith("cli."):
        broken.append(f"{room} must not print")
    if "open" in called and kind in ("pure", "core"):
        broken.append(f"{room} is {kind} and must not open files")
    return broken


SIBLINGS = {"producer", "consumer"}


def path_of(room: str) -> Path:
    return PACKAGE.joinpath(*room.split(".")).with_suffix(".py")


def outside_of_reading(
    readings: dict[str, str], imports: dict[str, set[str]], doors: Collection[str] = ()
) -> list[str]:
    """Return which listed room imports a room that its reader has not met.

    A room that may be imported is listed, and so bound in the same way: no chain of imports leaves
    the readings, but by a door, whose reader need not open it. An import for the types alone counts
    too, since a reader follows it.
    """
    return [
        f"{room} {stars} must not import {other}, which is in no reading up to {stars}"
        for room, stars in readings.items()
        for other in sorted(imports[room].difference(doors))
        if not 0 < len(readings.get(other, "")) <= len(stars)
    ]


def rooms_imported_by(room: str) -> set[str]:
    names = {name.removeprefix("kminilog.") for name in all_imports(path_of(room))}
    return names & KINDS.keys()


def test_reading_imports_only_what_it_or_an_earlier_one_holds():
    imports = {room: rooms_imported_by(room) for room in READINGS}
    assert outside_of_reading(READINGS, imports, DOORS) == []


def test_page_lists_each_reading_in_the_order_of_the_imports():
    listed = [room for rooms in lists_to_read().values() for room in rooms]
    assert len(listed) == len(set(listed)) == len(READINGS)
    assert set(listed) | set(DOORS) <= set(BUILT)
    assert set(DOORS).isdisjoint(listed)
    too_early = [
        f"{room} before {other}"
        for rooms in lists_to_read().values()
        for slot, room in enumerate(rooms)
        for other in rooms_imported_by(room) & set(rooms[slot:])
        if other not in looked_up()
    ]
    assert too_early == []


def looked_up() -> set[str]:
    """Return what a reader looks up when its name comes: the end of the first list."""
    return set(LISTED.findall(READ_THE_CODE.split("**Look these up**")[1].split("\n## ")[0]))


def test_table_marks_what_the_page_lists():
    """The drawing above the table takes its colours from the marks."""
    marks = MARK.findall((PROJECT / "docs" / "architecture.md").read_text())
    assert {room: stars for stars, room in marks} == READINGS


def test_each_door_is_used():
    used = set().union(*(rooms_imported_by(room) for room in READINGS))
    assert [door for door in DOORS if door not in used] == []


def file_of_tests(room: str) -> Path:
    *folders, name = room.split(".")
    return PROJECT.joinpath("tests", *folders, f"test_{name}.py")


def test_each_module_of_the_kernel_has_a_test_file_of_its_name():
    kernel = [room for room, reading in READINGS.items() if reading == "★"]
    assert "storage.segment.segment" in kernel
    assert [room for room in kernel if not file_of_tests(room).is_file()] == []


def test_kernel_has_no_line_of_later_formats():
    words = re.compile(
        r"later_format|broker_files|crc.?32.?c\b|\bv[12]\b|0\.1[01]\b|lost_batch", re.I
    )
    kernel = [room for room, reading in READINGS.items() if reading == "★"]
    lines = {room: path_of(room).read_text().splitlines() for room in kernel}
    assert [(room, line) for room in kernel for line in lines[room] if words.search(line)] == []


def test_one_module_asks_for_later_formats_and_does_without():
    """One beside the room that reads them, of which `crc32c` takes the table."""
    asked = "kminilog.format.later_formats"
    asking = {room_of(path) for path in MODULES if asked in all_imports(path)}
    assert asking == {"storage.segment.whole_messages", "broker_files.crc32c"}


def test_reading_is_one_of_three():
    assert set(READINGS.values()) == STARS


def test_page_says_how_long_the_readings_are():
    for stars in STARS:
        said = re.search(rf"\n## {stars} \w+\n\nAbout ([\d,]+) lines", READ_THE_CODE)
        lines = sum(
            len(path_of(room).read_text().splitlines())
            for room, reading in READINGS.items()
            if reading == stars
        )
        assert said, stars
        assert abs(int(said[1].replace(",", "")) - lines) < lines / 20, (stars, lines)


def test_modules_keep_to_the_floor_plan():
    broken = []
    for path in MODULES:
        tree = ast.walk(ast.parse(path.read_text()))
        names = [node.func for node in tree if isinstance(node, ast.Call)]
        called = {name.id for name in names if isinstance(name, ast.Name)}
        room = room_of(path)
        if room in BUILT:
            named = named_in_strings(path.read_text()) - {f"kminilog.{room}"}  # as `-m` runs it
            broken += broken_rules(room, KINDS[room], all_imports(path) | named, called)
        else:
            broken.append(f"{room} has no row in docs/architecture.md")
    assert broken == []


def test_labs_do_not_import_the_command_line():
    imported = {path.parent.name: all_imports(path) for path in LABS}
    assert "kminilog.explain.text" in imported["01_message"]
    assert [lab for lab, names in imported.items() if "kminilog.cli" in " ".join(names)] == []


def test_no_two_folders_use_each_other():
    uses = uses_of_folders()
    assert "cli.step" in uses["cli"], "by a name in a string"
    uses["course"].add("labs")  # it loads their checks
    uses["labs"].discard("course")  # which get from it what they compare with
    uses["labs"].discard("course.judging")
    assert circles(uses) == set()


def test_circle_is_named_however_long_it_is():
    uses = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}
    assert circles(uses) == {("a", "b"), ("a", "c"), ("b", "c")}


def test_name_in_a_string_counts_as_a_whole_and_in_two_parts():
    assert named_in_strings('run("kminilog.cli.main")') == {"kminilog.cli.main"}
    made = 'ALL = ("step.command", "none")\nimport_module(f"kminilog.cli.{ALL[0]}")'
    assert named_in_strings(made) == {"kminilog.cli.step.command"}


def test_modules_load_spark_and_arrays_only_where_they_may():
    broken = []
    for path in MODULES:
        room, loaded = room_of(path), imports_at_module_level(path)
        inside = tuple(f"{name.removeprefix('kminilog.')}." for name in loaded if TWINS not in name)
        tops = {name.split(".")[0] for name in loaded}
        if not room.startswith(IN_SPARK):
            if tops & (SPARK - COLUMNS) or any(name.startswith(IN_SPARK) for name in inside):
                broken.append(f"{room} loads Spark")
            if not room.startswith(IN_COLUMNS) and (
                tops & COLUMNS or any(name.startswith(IN_COLUMNS) for name in inside)
            ):
                broken.append(f"{room} loads arrays")
    assert broken == []


def too_wide(tree: ast.Module) -> list[str]:
    """Return the classes with more than 10 methods."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            methods = [
                each.name
                for each in node.body
                if isinstance(each, ast.FunctionDef)
                and not PROPERTIES & set(map(ast.unparse, each.decorator_list))
            ]
            public = [name for name in methods if not name.startswith("_") and name != "check"]
            if len(public) > 10:
                found.append(node.name)
    return found


def test_classes_are_small():
    found = {room_of(path): too_wide(ast.parse(path.read_text())) for path in MODULES}
    assert {room: names for room, names in found.items() if names} == {}
    wide = "".join(f"    def m{number}(self): ...\n" for number in range(11))
    assert too_wide(ast.parse(f"class Wide:\n{wide}")) == ["Wide"]


def test_public_class_has_a_name_of_its_own():
    named: dict[str, list[str]] = {"RoundRobin": []}  # Kafka's word, for partitions and members
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named.setdefault(node.name, []).append(room_of(path))
    assert named.pop("RoundRobin") == ["consumer.assignors.round_robin", "partitioners.round_robin"]
    assert {name: rooms for name, rooms in named.items() if len(rooms) > 1} == {}


def test_package_files_only_re_export():
    allowed = (ast.ImportFrom, ast.Expr, ast.Assign)
    other = [
        str(path.relative_to(PACKAGE))
        for path in INITS
        if not all(isinstance(node, allowed) for node in ast.parse(path.read_text()).body)
    ]
    assert other == []


@pytest.mark.processes
def test_package_loads_no_room_before_a_name_of_it_is_asked_for():
    show = "import sys, kminilog; print([n for n in sys.modules if n.startswith('kminilog.')])"
    output = subprocess.run([sys.executable, "-c", show], capture_output=True, check=True)
    assert output.stdout == b"[]\n"


def test_package_names_its_public_names_once_for_readers_of_types_and_once_for_python():
    (block,) = (node for node in ast.parse(ROOT.read_text()).body if isinstance(node, ast.If))
    typed = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == {name: f"kminilog.{home}" for name, home in kminilog._HOMES.items()}
    assert {getattr(kminilog, name).__class__ for name in kminilog.__all__}
    with pytest.raises(AttributeError, match="no attribute 'LogFile'"):
        kminilog.LogFile  # noqa: B018


def test_floor_plan_lists_each_room_once_and_nothing_that_is_gone():
    assert len(ROOMS) > 20
    assert len({room.name for room in ROOMS}) == len(ROOMS)
    assert set(BUILT) == {room_of(path) for path in MODULES}


def test_floor_plan_has_only_rows_of_rooms():
    page = (PROJECT / "docs" / "architecture.md").read_text()
    assert len(rows_of_the_table(page)) == len(ROOMS)
    assert rows_of_no_room(page) == []


def test_floor_plan_row_that_is_of_no_room_is_named():
    page = (PROJECT / "docs" / "architecture.md").read_text()
    first = rows_of_the_table(page)[0]
    stray = "| `file` | files, but no clock |"
    assert rows_of_no_room(page.replace(first, f"{first}\n{stray}")) == [stray]


def test_rows_of_a_folder_stand_together_so_no_folders_import_each_other():
    folders = [name.split(".")[0] for name in BUILT]
    assert [name for name, _ in itertools.groupby(folders)] == list(dict.fromkeys(folders))


@pytest.mark.parametrize(
    ("room", "imported", "called", "complaint"),
    [
        ("format.message", {"kminilog.storage.segment.segment"}, set(), "stands below"),
        ("storage.segment.segment", {"kminilog.storage.partition.log"}, set(), "stands below"),
        ("storage.segment.segment", {"kminilog.storage.segment.segment"}, set(), "stands below"),
        ("format.message", {"os.path"}, set(), "is pure"),
        ("storage.partition.retention", {"time"}, set(), "is file"),
        ("storage.segment.segment", {"pyspark.sql"}, set(), "is file"),
        ("storage.segment.segment", {"numpy"}, set(), "is file"),
        ("columns.crc", {"pyspark.sql"}, set(), "is file"),
        ("storage.segment.segment", {"kminilog"}, set(), "not the package"),
        ("storage.segment.segment", set(), {"print"}, "must not print"),
        ("format.message", set(), {"open"}, "must not open"),
    ],
)
def test_floor_plan_rule_that_is_broken_is_named(room, imported, called, complaint):
    (broken,) = broken_rules(room, KINDS[room], imported, called)
    assert complaint in broken


@pytest.mark.parametrize(
    ("imported", "complaint"),
    [
        ("storage.bulk_twin", "storage.log ★ must not import storage.bulk_twin"),
        ("producer.batch", "storage.log ★ must not import producer.batch"),
    ],
    ids=["of no reading", "of a later reading"],
)
def test_reading_that_imports_what_its_reader_has_not_met_is_named(imported, complaint):
    readings = {"format.message": "★", "storage.log": "★", "producer.batch": "★★"}
    imports = {
        "format.message": set(),
        "storage.log": {"format.message", imported},
        "producer.batch": {"format.message"},
    }
    (found,) = outside_of_reading(readings, imports)
    assert found.startswith(complaint)
