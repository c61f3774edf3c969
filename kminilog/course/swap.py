"""A student's functions in the place of the library's, for a whole process.

    python -m kminilog.course.swap ANSWERS RESULT 1 format.message.header,… produce orders lines.txt

A function is replaced as soon as its module is loaded: whoever imports it, by `from … import` too,
gets the student's. Nothing else of kminilog may be imported before. RESULT is a JSON file that says
how often each function was called, and what went wrong in the student's code. Source: ours.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

Replace = Callable[[Callable[..., Any]], Callable[..., Any]]
ANSWERS_MODULE = "answers"


def room_of(symbol: str) -> str:
    """Return the module of a function, or of a method: the part before the first capital letter.

    >>> room_of("format.message.encode"), room_of("storage.segment.Segment.add")
    ('format.message', 'storage.segment')
    """
    return ".".join(part for part in symbol.split(".")[:-1] if not part[0].isupper())


def replace_when_loaded(replacements: Mapping[str, Replace]) -> None:
    """Have functions replaced as soon as their modules are loaded.

    `replacements` maps `room.function` or `room.Class.method` to what makes the new function of the
    old one.
    """
    execute = SourceFileLoader.exec_module

    def execute_and_replace(loader: SourceFileLoader, module: ModuleType) -> None:
        execute(loader, module)
        for symbol, replace in replacements.items():
            if module.__name__ == f"kminilog.{room_of(symbol)}":
                _replace(module, symbol, replace)

    SourceFileLoader.exec_module = execute_and_replace  # type: ignore[assignment,method-assign]


def _replace(module: ModuleType, symbol: str, replace: Replace) -> None:
    owner: Any = module
    *classes, name = symbol.removeprefix(room_of(symbol) + ".").split(".")
    for class_name in classes:
        owner = getattr(owner, class_name)
    found = vars(owner)[name]
    if isinstance(found, staticmethod | classmethod):
        setattr(owner, name, type(found)(replace(found.__func__)))
    else:
        setattr(owner, name, replace(found))


def load_answers(path: Path) -> ModuleType:
    """Run a student's file as the module `answers`, and return it; raises whatever it raises."""
    spec = spec_from_file_location(ANSWERS_MODULE, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    sys.modules[ANSWERS_MODULE] = module
    spec.loader.exec_module(module)
    return module


class StudentFunctions:
    """Functions of a student's file that stand in for the library's; the file is loaded once."""

    def __init__(self, path: Path, prepare: Callable[[ModuleType], None]) -> None:
        self.calls: Counter[str] = Counter()
        self.complaint: dict[str, Any] | None = None
        self._path = path
        self._prepare = prepare
        self._module: ModuleType | None = None
        self._running: set[str] = set()

    def replacement(self, symbol: str) -> Replace:
        """Return what replaces a function by the student's, counted and guarded."""
        name = symbol.rpartition(".")[2]

        def replace(original: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(original)
            def stand_in(*arguments: Any, **named: Any) -> Any:
                self.calls[symbol] += 1
                if symbol in self._running:
                    self._complain(symbol, "imports-reference", "")
                self._running.add(symbol)
                try:
                    return getattr(self.module(), name)(*arguments, **named)
                except Exception as error:
                    if not _is_ours(error):
                        self._complain(symbol, None, f"{type(error).__name__}: {error}")
                    raise
                finally:
                    self._running.discard(symbol)

            return stand_in

        return replace

    def watch_class(self, name: str) -> None:
        """Count the calls of `partition` or `assign` of the student's class."""
        owner = getattr(self.module(), name)
        for method in ("partition", "assign"):
            if method in vars(owner):
                setattr(owner, method, self._counted(name, vars(owner)[method]))

    def module(self) -> ModuleType:
        """Return the student's module, loaded with the first use."""
        if self._module is None:
            self._module = load_answers(self._path)
            self._prepare(self._module)
        return self._module

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*arguments: Any, **named: Any) -> Any:
            self.calls[name] += 1
            return function(*arguments, **named)

        return counted

    def _complain(self, symbol: str, code: str | None, error: str) -> None:
        self.complaint = self.complaint or {"symbol": symbol, "code": code, "error": error}


def _is_ours(error: Exception) -> bool:
    """Tell if the engine expects the error: one of kminilog's own tree, or a refused argument."""
    return any(kind.__name__ == "KMiniLogError" for kind in type(error).__mro__)


def main(answers: str, result: str, lab: str, symbols: str, *command: str) -> None:
    """Run a command on the student's functions, within limits."""
    from kminilog.course.limits import forbid_processes, limit_resources

    def lend(module: ModuleType) -> None:
        import_module("kminilog.course.judge").lend_library_functions(module, int(lab), wanted)

    functions = StudentFunctions(Path(answers).resolve(), lend)
    wanted = [symbol for symbol in symbols.split(",") if symbol]
    methods = [symbol for symbol in wanted if not symbol.rpartition(".")[2][0].isupper()]
    replace_when_loaded({symbol: functions.replacement(symbol) for symbol in methods})
    limit_resources(cpu_seconds=20)
    forbid_processes()
    for symbol in wanted:
        if symbol not in methods:
            functions.watch_class(symbol.rpartition(".")[2])
    try:
        import_module("kminilog.cli.main").main(command)
    finally:
        counts = {symbol: functions.calls[symbol] for symbol in methods}
        classes = [symbol for symbol in wanted if symbol not in methods]
        counts |= {symbol: functions.calls[symbol.rpartition(".")[2]] for symbol in classes}
        told = {"calls": counts, "complaint": functions.complaint}
        Path(result).write_text(json.dumps(told))


if __name__ == "__main__":
    main(*sys.argv[1:])
