"""A student's file, read without running it: what is untouched, missing, or forbidden.

Source: ours.
"""

import ast
from pathlib import Path

from kminilog.course.material import Exercise

ANSWERS_FILE = "answers.py"


class UnreadableError(Exception):
    """The file is missing or no Python; the text is one sentence with the line."""


class Answers:
    """The file of a student, as Python's parser sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.source = path.read_text(encoding="utf-8")
            self._tree = ast.parse(self.source)
        except FileNotFoundError:
            raise UnreadableError(f"{path.name} is missing") from None
        except SyntaxError as error:
            raise UnreadableError(f"{path.name}, line {error.lineno}: {error.msg}") from None
        except (ValueError, UnicodeDecodeError, OSError, RecursionError) as error:
            raise UnreadableError(f"{path.name}: {error}") from None

    def line_of(self, name: str) -> int | None:
        """Return the line where a function, a class or a constant begins; None without one."""
        found = self._find(name)
        return None if found is None else found.lineno

    def is_untouched(self, name: str) -> bool:
        """Tell if a function or class still raises NotImplementedError, or a constant is `...`."""
        found = self._find(name)
        if isinstance(found, ast.ClassDef):
            bodies = [node for node in found.body if isinstance(node, ast.FunctionDef)]
            return bool(bodies) and all(_is_only_raise(body) for body in bodies)
        if isinstance(found, ast.FunctionDef):
            return _is_only_raise(found)
        return isinstance(found, ast.Assign) and _is_ellipsis(found.value)

    def imports_reference(self, exercise: Exercise) -> int | None:
        """Return the line that takes the symbol to be implemented from the library; else None.

        Sees `from kminilog.x import f`, and `x.f` where x is such a module.
        """
        module, _, name = f"kminilog.{exercise.symbol}".rpartition(".")
        owner = ""
        if module.rpartition(".")[2][:1].isupper():  # a method: its class may be imported
            module, _, owner = module.rpartition(".")
        modules = {module}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    if full == f"{module}.{name}" or (full == f"kminilog.{name}" and not owner):
                        return node.lineno
                    if full == module:
                        modules.add(alias.asname or alias.name)
                    if owner and full == f"{module}.{owner}":
                        modules.add(alias.asname or alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == module and alias.asname:
                        modules.add(alias.asname)
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Attribute) and node.attr == name:
                base = ast.unparse(node.value)
                if base in modules or any(base == f"{each}.{owner}" for each in modules if owner):
                    return node.lineno
        return None

    def span_of(self, name: str) -> tuple[int, int] | None:
        """Return the lines, first and last, counted from 1, of one answer."""
        found = self._find(name)
        if found is None:
            return None
        decorators = getattr(found, "decorator_list", [])
        first = min([found.lineno, *(each.lineno for each in decorators)])
        return first, found.end_lineno or found.lineno

    def _find(self, name: str) -> ast.FunctionDef | ast.ClassDef | ast.Assign | None:
        found: ast.FunctionDef | ast.ClassDef | ast.Assign | None = None
        for node in self._tree.body:  # the last definition counts, as it does when it runs
            if (isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name) or (
                isinstance(node, ast.Assign) and _assigns(node, name)
            ):
                found = node
        return found


def _assigns(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)


def _is_ellipsis(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is ...


def _is_only_raise(function: ast.FunctionDef) -> bool:
    body = function.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # the docstring
    return (
        len(body) == 1
        and isinstance(body[0], ast.Raise)
        and "NotImplementedError" in ast.unparse(body[0])
    )
