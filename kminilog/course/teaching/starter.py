"""The starter of a lab: names, signatures and docstrings of the library, and no bodies.

A lab's `starter.py` is made of the library by this module; `course check` and a test compare
the two, so a starter cannot drift away from the library. A function that the library lacks is made
of the course's first right answer. Source: ours.
"""

import ast
import sys
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue
from kminilog.course.judging.patching import room_of
from kminilog.course.material import RIGHT, Exercise, Lab, MaterialError, answers_to, lab_of

_BODY = "raise NotImplementedError"
_PACKAGE = Path(__file__).parents[2]


def starter_of(lab: Lab) -> str:
    """Return the text of a lab's starter: imports, functions without bodies, constants."""
    imports: dict[str, None] = {}
    parts = []
    english = Catalogue(DEFAULT_LANGUAGE)
    for exercise in lab.exercises:
        title = english.texts(exercise).title
        if exercise.kind == "implement":
            definition, needed = _definition(exercise)
            imports |= dict.fromkeys(needed)
            parts.append(f"# {exercise.id}  {title}\n{definition}\n")
        elif exercise.names:
            lines = "\n".join(f"{name} = ..." for name in exercise.names)
            parts.append(f"# {exercise.id}  {title}\n{lines}\n")
    title = english.title(lab).lower()
    doc = f'"""Lab {lab.number}, {title}: your answers. README.md says what to do."""\n'
    head = "\n".join(_in_order(imports))
    first = "\n" * (lab.exercises[0].kind == "implement")  # in front of a function two empty lines
    return doc + "\n" + (head + "\n\n\n" if head else first) + "\n\n".join(parts)


def source_of(exercise: Exercise) -> str:
    """Return the source of the function or class that an exercise to implement asks for.

    That is the library's own; for one that the library lacks, the course's first right answer.
    Raises MaterialError if there is none, as in what students get.
    """
    if exercise.symbol:
        return _source_in_library(exercise.symbol)
    for path in answers_to(exercise, RIGHT)[:1]:
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef) and node.name in exercise.names:
                return ast.get_source_segment(text, node) or ""
    folder = lab_of(exercise.lab).folder / RIGHT
    raise MaterialError(folder, f"no answer to {exercise.id}; your lecturer may have one")


def _source_in_library(symbol: str) -> str:
    """Return the source of a function, method or class, without an import: it may need numpy."""
    room = room_of(symbol)
    text = _text_of(room)
    found: Any = ast.parse(text)
    for name in symbol.removeprefix(f"{room}.").split("."):
        (found,) = (each for each in found.body if getattr(each, "name", "") == name)
    first = min([found.lineno, *(each.lineno for each in found.decorator_list)])
    lines = text.splitlines(keepends=True)[first - 1 : found.end_lineno]
    return textwrap.dedent("".join(lines))


def _text_of(room: str) -> str:
    path = Path(_PACKAGE, *room.split(".")).with_suffix(".py")
    return path.read_text(encoding="utf-8")


def _definition(exercise: Exercise) -> tuple[str, list[str]]:
    """Return a function or class without bodies, and the import lines that it needs."""
    source = source_of(exercise)
    (node,) = ast.parse(source).body
    parts = node.body if isinstance(node, ast.ClassDef) else [node]
    functions = [part for part in parts if isinstance(part, ast.FunctionDef)]
    names = {name for function in functions for name in _names_in_signature(function)}
    if isinstance(node, ast.ClassDef):
        bases = [each for base in node.bases for each in ast.walk(base)]
        names |= {each.id for each in bases if isinstance(each, ast.Name)}
    lines = source.splitlines()
    for function in reversed(functions):
        first = function.body[0]
        has_doc = ast.get_docstring(function) is not None
        start = (first.end_lineno or first.lineno) if has_doc else first.lineno - 1
        lines[start : function.end_lineno] = [" " * (function.col_offset + 4) + _BODY]
    # Without decorators: a student's method is a plain function.
    needed = _imports(exercise, names) if exercise.symbol else []
    return "\n".join(lines[node.lineno - 1 :]), needed


def _names_in_signature(function: ast.FunctionDef) -> set[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parts: list[ast.AST] = [each.annotation for each in every if each.annotation]
    parts += [
        each for each in (function.returns, *arguments.defaults, *arguments.kw_defaults) if each
    ]
    return {each.id for part in parts for each in ast.walk(part) if isinstance(each, ast.Name)}


def _imports(exercise: Exercise, names: set[str]) -> list[str]:
    room = f"kminilog.{room_of(exercise.symbol)}"
    tree = ast.parse(_text_of(room_of(exercise.symbol)))
    lines = []
    origin = {
        alias.asname or alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for name in sorted(names):
        if name in origin:
            lines.append(f"from {origin[name]} import {name}")
        elif name in vars(import_module(room)):
            lines.append(f"from {room} import {name}")
    return lines


def _in_order(imports: dict[str, None]) -> list[str]:
    """Return import lines, the standard library first, names of one module together."""
    by_module: dict[str, set[str]] = {}
    for line in imports:
        _, module, _, name = line.split(" ", 3)
        by_module.setdefault(module, set()).add(name)
    ours = sorted(module for module in by_module if module.startswith("kminilog"))
    others = sorted(module for module in by_module if not module.startswith("kminilog"))
    lines = [f"from {module} import {', '.join(sorted(by_module[module]))}" for module in others]
    lines += [""] if others and ours else []
    return lines + [
        f"from {module} import {', '.join(sorted(by_module[module]))}" for module in ours
    ]


def main(number: str) -> None:
    """Print the starter of a lab: `… starter 1 > labs/01_message/starter.py`."""
    sys.stdout.write(starter_of(lab_of(number)))


if __name__ == "__main__":
    main(*sys.argv[1:])
