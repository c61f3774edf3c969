"""How a function that returns a step-through becomes a command `kminilog step NAME`.

The command has the function's own parameters and these: `--html FILE`, `--json`, `--from-step N`,
`--seed S`. The function gets its own parameters and `seed`. Source: ours.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from kminilog.cli.shared.keys import keys_of_terminal
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import width, write_document, write_line, write_lines
from kminilog.cli.shared.output_files import OutputFile, write_output
from kminilog.course.steps.document import Document, to_json
from kminilog.course.steps.page import render_page
from kminilog.course.steps.terminal import Viewer
from kminilog.course.steps.text import check_step, render_text
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.text import count

Scene = Callable[..., Document]


class SceneCommand(click.Command):
    """The command of one step-through, and the function that makes its document."""

    def __init__(self, name: str, title: str, function: Scene, shows: str) -> None:
        shared = [_html_option(), _json_option(), _from_step_option(), _seed_option()]
        self.own = list(reversed(getattr(function, "__click_params__", [])))
        super().__init__(
            name,
            params=[*self.own, *shared],
            callback=self._show,
            help=function.__doc__,
            short_help=title,
            epilog=example(shows),
        )
        self._function = function

    def document(self, arguments: Sequence[str] = ()) -> Document:
        """Return the document for some arguments; raises what the command would."""
        with self.make_context(self.name, list(arguments)) as ctx:
            own = {param.name: ctx.params[param.name] for param in self.own if param.name}
            return self._function(**own, seed=ctx.params["seed"])

    @property
    def takes(self) -> str:
        """What the step-through takes, as its usage has it."""
        return " ".join(map(_usage, self.own))

    def _show(self, html: Path | None, from_step: int, as_json: bool, **own: Any) -> None:
        document = self._function(**own)
        check_step(document, from_step)
        if html:
            write_output(html, render_page(document).encode())
        if as_json:
            write_document(to_json(document))
        elif html:
            write_line(f"{html}: {count(len(document.steps), 'step')}")
        elif sys.stdin.isatty() and sys.stdout.isatty():
            with keys_of_terminal() as read_key:
                Viewer(document, Console(), read_key, from_step).run()
        else:
            write_lines(render_text(document, from_step, width=width()))


def scene(name: str, title: str, *, shows: str) -> Callable[[Scene], SceneCommand]:
    """Return a decorator that makes a command of a function; `shows` is the example of its help.

    The function's docstring is the help text. Its own arguments and options are click's decorators,
    below this one.
    """
    return lambda function: SceneCommand(name, title, function, shows)


def dialect_option(default: Dialect) -> Callable[[Scene], Scene]:
    """Return the option `--dialect`; the function gets a Dialect."""
    return click.option(
        "--dialect",
        type=click.Choice(list(DIALECTS)),
        default=default.name,
        show_default=True,
        callback=lambda ctx, param, name: DIALECTS[name],
        help="Dialect: the message format, and the rule that names segments.",
    )


def _usage(param: click.Parameter) -> str:
    metavar = param.make_metavar(click.Context(click.Command("")))
    if isinstance(param, click.Option):
        value = "" if param.is_flag else f" {metavar}"
        return f"[{param.opts[0]}{value}]" + ("…" if param.multiple else "")
    return metavar if metavar.startswith("[") else f"[{metavar}]"


def _html_option() -> click.Option:
    return click.Option(
        ["--html"],
        type=OutputFile(),
        metavar="FILE",
        help="Write the step-through to this file, as a page that needs nothing else.",
    )


def _from_step_option() -> click.Option:
    return click.Option(
        ["--from-step"],
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        metavar="N",
        help="Number of the first step to show.",
    )


def _seed_option() -> click.Option:
    return click.Option(
        ["--seed"], type=int, default=0, show_default=True, help="Seed for the random generator."
    )


def _json_option() -> click.Parameter:
    @json_option
    def options() -> None:
        """Nothing: click keeps the option here."""

    option: click.Parameter = options.__click_params__[0]  # type: ignore[attr-defined]
    return option
