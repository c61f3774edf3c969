"""The table of docs/labs.md, of all labs: `python -m tests.support.docs.seam_table`."""

from pathlib import Path

from kminilog.course.material import all_labs

PAGE = Path(__file__).parents[3] / "docs" / "labs.md"
HEAD = "| symbol | exercise | command |\n|---|---|---|\n"


def rows() -> list[str]:
    """Return a row for each function of the library to write, in the order of the labs."""
    return [
        f"| `{exercise.symbol}` | {exercise.id} | `kminilog {exercise.command}` |"
        for lab in all_labs()
        for exercise in lab.exercises
        if exercise.symbol
    ]


def rows_of_page() -> list[str]:
    """Return the rows that the page has."""
    return PAGE.read_text().split(HEAD)[1].rstrip("\n").split("\n")


def main() -> None:
    """Write the table, which is the end of the page."""
    PAGE.write_text(PAGE.read_text().split(HEAD)[0] + HEAD + "\n".join(rows()) + "\n")


if __name__ == "__main__":
    main()
