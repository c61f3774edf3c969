"""A student's functions in the place of the library's, for a whole process.

A function is replaced as soon as its module is loaded: whoever imports it, by `from … import` too,
gets the student's. So nothing else of kminilog may be imported before.
course/judging/patched.py runs a command like this. Source: ours.
"""

import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import GeneratorType, ModuleType
from typing import Any

Replace = Callable[[Callable[..., Any]], Callable[..., Any]]
ANSWERS_MODULE = "answers"
NO_RESULT = "-"
"""In place of the file in which a process says how often each function was called."""


def room_of(symbol: str) -> str:
    """Return the module of a function, or of a method: the part before the first capital letter.

    >>> room_of("format.message.encode"), room_of("storage.segment.segment.Segment.add")
    ('format.message', 'storage.segment.segment')
    """
    return ".".join(part for part in symbol.split(".")[:-1] if not part[0].isupper())


def library_answer(symbol: str) -> Any:
    """Return the library's own function, method or class, even where another stands in for it."""
    room = room_of(symbol)
    found: Any = import_module(f"kminilog.{room}")
    for name in symbol.removeprefix(f"{room}.").split("."):
        found = getattr(found, name)
    while hasattr(found, "__wrapped__"):  # inspect.unwrap leaves classes alone since Python 3.14
        found = found.__wrapped__
    return found


def is_class(symbol: str) -> bool:
    """Tell if a symbol is a class.

    >>> is_class("partitioners.round_robin.RoundRobin"), is_class("format.message.encode")
    (True, False)
    """
    return symbol.rpartition(".")[2][0].isupper()


def lend_library_functions(module: ModuleType, lab: int, written: Collection[str]) -> None:
    """Put the library's functions into a student's module, except for the symbols `written`.

    So a function may call another one of its lab that the student has not written yet.
    """
    # Not at the top: functions are replaced before anything else of kminilog is loaded.
    from kminilog.course.material import lab_of

    for other in lab_of(lab).exercises:
        if other.symbol and other.symbol not in written and not other.is_method:
            setattr(module, other.name, library_answer(other.symbol))


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
                _replace(*_owner(module, symbol), replace)

    SourceFileLoader.exec_module = execute_and_replace  # type: ignore[assignment,method-assign]


def _owner(module: ModuleType, symbol: str) -> tuple[Any, str]:
    """Return the module or class that a symbol stands in, and its name there."""
    owner: Any = module
    *classes, name = symbol.removeprefix(room_of(symbol) + ".").split(".")
    for class_name in classes:
        owner = getattr(owner, class_name)
    return owner, name


def _replace(owner: Any, name: str, replace: Replace) -> None:
    found = vars(owner)[name]
    if isinstance(found, staticmethod | classmethod):
        setattr(owner, name, type(found)(replace(found.__func__)))
    else:
        setattr(owner, name, replace(found))


def load_answers(path: Path, **names: Any) -> ModuleType:
    """Run a student's file as the module `answers`, and return it; raises whatever it raises.

    `names` are there before. Nothing is written beside the file, where Python would keep bytecode.
    """
    module = ModuleType(ANSWERS_MODULE)
    module.__file__ = str(path)
    vars(module).update(names)
    sys.modules[ANSWERS_MODULE] = module
    exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
    return module


class _Running(threading.local):
    """The symbols whose functions run in this thread."""

    def __init__(self) -> None:
        self.symbols: set[str] = set()


class StudentFunctions:
    """Functions of a student's file that stand in for the library's; the file is loaded once.

    While it is loaded, its own lines may call the library, as for an input to expose: those calls
    are of the library's functions.

    What the student prints goes to stderr: the output of a command stays what it is.
    """

    def __init__(self, path: Path, lab: int, symbols: Sequence[str]) -> None:
        self.calls: Counter[str] = Counter()
        self.complaint: dict[str, Any] | None = None
        self.symbols = symbols
        self.lab = lab
        self._path = path
        self._module: ModuleType | None = None
        self._is_loading = False
        self._running = _Running()

    def replacements(self) -> Iterator[tuple[str, Replace]]:
        """Yield each symbol, and what replaces it by the student's."""
        for symbol in self.symbols:
            yield symbol, self._of_class(symbol) if is_class(symbol) else self.replacement(symbol)

    def replacement(self, symbol: str) -> Replace:
        """Return what replaces a function by the student's, counted and guarded."""
        name = symbol.rpartition(".")[2]

        def replace(original: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(original)
            def stand_in(*arguments: Any, **named: Any) -> Any:
                if self._is_loading:
                    return original(*arguments, **named)
                answer = getattr(self.module(), name)  # loaded outside the guard
                self.calls[symbol] += 1
                with self._guarded(symbol):
                    given = answer(*arguments, **named)
                return self._items(symbol, given) if isinstance(given, GeneratorType) else given

            return stand_in

        return replace

    def _of_class(self, symbol: str) -> Replace:
        """Return what replaces a class by the student's, made as soon as it is called.

        What the student's class lacks, the library's interface has.
        """

        def replace(original: Callable[..., Any]) -> Callable[..., Any]:
            assert isinstance(original, type)

            def make(cls: type, *arguments: Any, **named: Any) -> Any:
                if self._is_loading:
                    return original(*arguments, **named)
                own = getattr(self.module(), original.__name__)
                return type(own.__name__, (own, *original.__bases__), {})(*arguments, **named)

            names = {"__new__": make, "__doc__": original.__doc__, "__wrapped__": original}
            return type(original.__name__, (original,), names)

        return replace

    def watch_classes(self) -> None:
        """Count the calls of `partition` or `assign` of the student's classes."""
        for symbol in filter(is_class, self.symbols):
            owner = getattr(self.module(), symbol.rpartition(".")[2])
            for method in ("partition", "assign"):
                if method in vars(owner):
                    setattr(owner, method, self._counted(symbol, vars(owner)[method]))

    def module(self) -> ModuleType:
        """Return the student's module, loaded with the first use."""
        if self._module is None:
            answers = sys.modules[ANSWERS_MODULE]
            self._is_loading = True
            try:
                self._module = load_answers(self._path, print=partial(print, file=sys.stderr))
            finally:
                self._is_loading = False
                sys.modules[ANSWERS_MODULE] = answers
            lend_library_functions(self._module, self.lab, self.symbols)
        return self._module

    def _items(self, symbol: str, generator: Iterator[Any]) -> Iterator[Any]:
        """Yield what a student's generator does; its code runs only now."""
        while True:
            with self._guarded(symbol):
                try:
                    item = next(generator)
                except StopIteration:
                    return
            yield item

    @contextmanager
    def _guarded(self, symbol: str) -> Iterator[None]:
        """Note what goes wrong in a student's function, or that it calls what it stands in for."""
        running = self._running.symbols
        # `self.NAME` inside a method is the student's own, which may call itself.
        if symbol in running and not is_class(symbol.rpartition(".")[0]):
            self._complain(symbol, "command-takes-from-library")
            raise RecursionError(f"{symbol} calls itself through the library")
        running.add(symbol)
        try:
            yield
        except BaseException as error:
            if not any(kind.__name__ == "KMiniLogError" for kind in type(error).__mro__):
                self._complain(symbol, "command-raised", f"{type(error).__name__}: {error}")
            raise
        finally:
            running.discard(symbol)

    def _counted(self, symbol: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def counted(*arguments: Any, **named: Any) -> Any:
            self.calls[symbol] += 1
            return function(*arguments, **named)

        return counted

    def _complain(self, symbol: str, name: str, error: str = "") -> None:
        self.complaint = self.complaint or {"symbol": symbol, "name": name, "error": error}


class AnswersOfLabs(ModuleType):
    """The module `answers` of a command: a class such as `answers:Mine` stands in one of the files.

    Asked for a name that is another thing in each of several files, it raises KMiniLogError.
    """

    def __init__(self, files: Iterable[StudentFunctions]) -> None:
        super().__init__(ANSWERS_MODULE)
        self._files = [each for each in files if each.symbols]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python's own question, which loads no file
            raise AttributeError(name)
        modules = {each.lab: vars(each.module()) for each in self._files}
        found = {lab: names[name] for lab, names in modules.items() if name in names}
        if not found:
            raise AttributeError(name)
        if len(set(map(id, found.values()))) > 1:
            from kminilog.errors import KMiniLogError

            labs = " and ".join(map(str, found))
            remedy = f"run one lab, as with `kminilog lab run {min(found)}`"
            raise KMiniLogError(f"answers:{name} is in your answers to labs {labs}; {remedy}")
        return next(iter(found.values()))
