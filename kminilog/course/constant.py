"""The value of one constant of a student's file, as JSON; in a process of its own. Source: ours."""

import json
import sys
from pathlib import Path

from kminilog.course.limits import forbid_processes, limit_resources
from kminilog.course.swap import load_answers


def main(answers: str, name: str, result: str) -> None:
    """Write `{"value": …}`; a tuple becomes a list."""
    limit_resources()
    forbid_processes()
    value = getattr(load_answers(Path(answers)), name)
    Path(result).write_text(json.dumps({"value": value}), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
