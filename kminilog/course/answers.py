"""A student's file, read without running it: what is untouched, missing, or forbidden.

Source: ours.
"""

import ast
import warnings
from pathlib import Path

from kminilog.course.material import Exercise
from kminilog.errors import KMiniLogError
from kminilog.storage.files import open_regular

ANSWERS_FILE = "answers.py"


class UnreadableError(KMiniLogError):
    """The file is missing or no Python; the text is one sentence with the line."""


class Answers:
    """The file of a student, as Python's parser sees it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with open(path, encoding="utf-8-sig", opener=open_regular) as file:
                self.source = file.read()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a wrong escape, for example
                self._tree = ast.parse(self.source)
        except SyntaxError as error:
            place = f"{path.name}, line {error.lineno}" if error.lineno else path.name
            raise UnreadableError(f"{place}: {error.msg}") from None
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise UnreadableError(f"{path.name}, line {line}: this is not UTF-8") from None
        except FileNotFoundError:
            raise UnreadableError(f"{path.name} is missing") from None
        except OSError as error:
            raise UnreadableError(f"{path.name}: {error.strerror or error}") from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise UnreadableError(f"{path.name}: {str(error) or 'nested too deeply'}") from None

    def line_of(self, name: str) -> int | None:
        """Return the line where a function, a class or a constant begins; None without one."""
        found = self._find(name)
        return None if found is None else found.lineno

    def is_untouched(self, name: str) -> bool:
        """Tell if nothing is written yet: a function or class has no code, or a constant is `...`.

        A body of NotImplementedError, `pass`, `...` or a docstring alone is no code.
        """
        found = self._find(name)
        if isinstance(found, ast.ClassDef):
            bodies = [node for node in found.body if isinstance(node, ast.FunctionDef)]
            return bool(bodies) and all(_has_no_code(body) for body in bodies)
        if isinstance(found, ast.FunctionDef):
            return _has_no_code(found)
        return isinstance(found, ast.Assign | ast.AnnAssign) and _is_ellipsis(found.value)

    def imports_reference(self, exercise: Exercise) -> int | None:
        """Return the line where the answer takes its symbol from the library; else None.

        Sees the names of `from kminilog.x import f`, and `x.f` where x is such a module, in the
        answer and in what it uses. Elsewhere in the file the library's function is welcome.
        """
        module, _, name = f"kminilog.{exercise.symbol}".rpartition(".")
        owner = ""
        if module.rpartition(".")[2][:1].isupper():  # a method: its class may be imported
            module, _, owner = module.rpartition(".")
        answer = self._find(exercise.name)
        used = self._used_by(exercise.name)
        modules, taken = {module}, set()
        for node in [*self._tree.body, *used]:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    bound = alias.asname or alias.name
                    if full == f"{module}.{name}" or (full == f"kminilog.{name}" and not owner):
                        taken.add(bound)
                        if bound == name and answer and node.lineno > answer.lineno:
                            return node.lineno
                    if full == module or (owner and full == f"{module}.{owner}"):
                        modules.add(bound)
            elif isinstance(node, ast.Import):
                modules |= {
                    each.asname for each in node.names if each.name == module and each.asname
                }
        for node in used:
            if isinstance(node, ast.Name) and node.id in taken:
                if node.id != name or _is_before_body(node, answer):
                    return node.lineno
            elif isinstance(node, ast.Attribute) and node.attr == name:
                base = ast.unparse(node.value)
                if base in modules or any(base == f"{each}.{owner}" for each in modules if owner):
                    return node.lineno
        return None

    def _used_by(self, name: str) -> list[ast.AST]:
        """Return all nodes of an answer, and of the definitions of the file that it uses."""
        names, nodes = [name], []
        for each in names:
            if found := self._find(each):
                parts = list(ast.walk(found))
                nodes += parts
                ids = {part.id for part in parts if isinstance(part, ast.Name)}
                names += sorted(ids.difference(names))
        return nodes

    def span_of(self, name: str) -> tuple[int, int] | None:
        """Return the lines, first and last, counted from 1, of one answer."""
        found = self._find(name)
        if found is None:
            return None
        decorators = getattr(found, "decorator_list", [])
        first = min([found.lineno, *(each.lineno for each in decorators)])
        return first, found.end_lineno or found.lineno

    def _find(
        self, name: str
    ) -> ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign | None:
        found: ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign | None = None
        for node in self._tree.body:  # the last definition counts, as it does when it runs
            if (isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name) or (
                isinstance(node, ast.Assign | ast.AnnAssign) and name in _assigned(node)
            ):
                found = node
        return found


def _assigned(node: ast.Assign | ast.AnnAssign) -> set[str]:
    """Return the names that `a = …`, `a: int = …` or `a, b = …` gives a value."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if node.value else []
    parts = [part for target in targets for part in ast.walk(target)]
    return {part.id for part in parts if isinstance(part, ast.Name)}


def _is_before_body(name: ast.Name, answer: ast.stmt | None) -> bool:
    """Tell if a name is read before the answer of that name is there: it is not the answer."""
    body = getattr(answer, "body", None)
    place = name.lineno, name.col_offset
    return not body or place < (body[0].lineno, body[0].col_offset)


def _is_ellipsis(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is ...


def _has_no_code(function: ast.FunctionDef) -> bool:
    return all(
        isinstance(node, ast.Pass)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        or (isinstance(node, ast.Raise) and "NotImplementedError" in ast.unparse(node))
        for node in function.body
    )
