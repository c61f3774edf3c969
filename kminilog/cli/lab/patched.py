"""A command of kminilog on a student's functions, in a process of its own.

    python -m kminilog.cli.lab.patched ANSWERS RESULT 1 format.message.header,… topic list
    python -m kminilog.cli.lab.patched ANSWERS - 1 format.message.header,… topic list

ANSWERS is the student's file. RESULT is a JSON file that says how often each function was called,
and what went wrong in the student's code; with it the process has limits. `-` is for the student's
own commands: no file, no limits. Source: ours.
"""

import json
import os
import sys
from pathlib import Path
from types import ModuleType

from kminilog.course.judging.patching import (
    NO_RESULT,
    StudentFunctions,
    lend_library_functions,
    replace_when_loaded,
)


def main(answers: str, result: str, lab: str, symbols: str, *command: str) -> None:
    """Run a command on the student's functions; within limits, if the result is asked for."""
    wanted = [symbol for symbol in symbols.split(",") if symbol]

    def lend(module: ModuleType) -> None:
        lend_library_functions(module, int(lab), wanted)

    functions = StudentFunctions(Path(answers).resolve(), lend)
    classes = [symbol for symbol in wanted if symbol.rpartition(".")[2][0].isupper()]
    replace_when_loaded(
        {each: functions.replacement(each) for each in wanted if each not in classes}
    )
    # From here on, modules are loaded with the student's functions in them.
    if result != NO_RESULT:
        from kminilog.course.judging.limits import forbid_processes, limit_resources

        limit_resources(cpu_seconds=20)
        forbid_processes()
    for symbol in classes:
        functions.watch_class(symbol)
    from kminilog.cli.main import main as command_line

    try:
        command_line(command)
    finally:
        if result != NO_RESULT:
            _write_result(Path(result), functions, wanted)


def _write_result(path: Path, functions: StudentFunctions, wanted: list[str]) -> None:
    calls = {symbol: functions.calls[symbol] for symbol in wanted}
    path.write_text(json.dumps({"calls": calls, "complaint": functions.complaint}))
    end = sys.exc_info()[1]
    if isinstance(end, SystemExit) and isinstance(end.code, int):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code)  # at once, whatever threads the student's code has started


if __name__ == "__main__":
    main(*sys.argv[1:])
