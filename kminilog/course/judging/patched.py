"""A command on a student's functions, in a process of its own.

    python -m kminilog.course.judging.patched PROGRAM RESULT ANSWERS topic list

PROGRAM is the module that runs the command, such as `kminilog`. ANSWERS is JSON, with a triple for
each file of the student: [["answers.py", 1, ["format.message.header", …]], …], the file, its lab,
and the symbols that it has. RESULT is a JSON file that says how often each function was called, and
what went wrong in the student's code; with it the process has limits. `-` is for the student's own
commands: no file, no limits. Source: ours.
"""

import json
import os
import sys
from pathlib import Path
from runpy import run_module

from kminilog.course.judging.patching import (
    ANSWERS_MODULE,
    NO_RESULT,
    AnswersOfLabs,
    StudentFunctions,
    replace_when_loaded,
)


def main(program: str, result: str, answers: str, *command: str) -> None:
    """Run a command on the student's functions; within limits, if the result is asked for."""
    files = [
        StudentFunctions(Path(path).resolve(), lab, symbols)
        for path, lab, symbols in json.loads(answers)
    ]
    replace_when_loaded(
        {symbol: replace for each in files for symbol, replace in each.replacements()}
    )
    # From here on, modules are loaded with the student's functions in them.
    if result != NO_RESULT:
        from kminilog.course.judging.limits import COMMAND_CPU_SECONDS, limit_resources

        limit_resources(COMMAND_CPU_SECONDS)
    sys.modules[ANSWERS_MODULE] = AnswersOfLabs(files)
    for each in files:
        each.watch_classes()
    sys.argv = [program, *command]
    try:
        run_module(program, run_name="__main__")
    finally:
        if result != NO_RESULT:
            calls = {symbol: each.calls[symbol] for each in files for symbol in each.symbols}
            complaint = next(filter(None, (each.complaint for each in files)), None)
            Path(result).write_text(json.dumps({"calls": calls, "complaint": complaint}))
            end = sys.exc_info()[1]
            if isinstance(end, SystemExit) and isinstance(end.code, int):
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(end.code)  # at once, whatever threads the student's code has started


if __name__ == "__main__":
    main(*sys.argv[1:])
