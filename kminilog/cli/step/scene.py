"""How a function that returns a step-through becomes a command `kminilog step NAME`.

The command has the function's own parameters and these: `--html FILE`, `--beside STEPS`,
`--svg DIR`, `--json`, `--from-step N`, `--language CODE`; and `--seed S` if the function has a
parameter `seed`.
Source: ours.
"""

import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from kminilog.cli.lab.options import LANGUAGE, to_language
from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.keys import keys_of_terminal
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import warn, width, write_document, write_line, write_lines
from kminilog.cli.shared.output_files import OutputDirectory, OutputFile, write_output
from kminilog.course.steps.terminal import Viewer
from kminilog.explain.document import Document, to_json
from kminilog.explain.drawing import svg
from kminilog.explain.page import render_beside, render_page
from kminilog.explain.script import language
from kminilog.explain.text import check_step, render_text
from kminilog.format.dialect import DIALECTS, Dialect
from kminilog.text import count

Scene = Callable[..., Document]


def _is_given(ctx: click.Context, param: click.Parameter) -> bool:
    return ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE


def _use_language(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Let all that this command makes be told in a language.

    The environment does not overrule what a command around this one was given.
    """
    found = to_language(ctx, param, value)
    if found and (_is_given(ctx, param) or language.get(None) is None):
        token = language.set(found)
        ctx.call_on_close(lambda: language.reset(token))


language_option = click.option(
    "--language",
    metavar="CODE",
    envvar=LANGUAGE,
    callback=_use_language,
    is_eager=True,
    expose_value=False,
    help=f"Language of what is said and asked, en or zh.  [default: {LANGUAGE}, else en]",
)


def warn_of_english(documents: Iterable[Document]) -> None:
    """Say which step-throughs are told in English because their language has no script of them."""
    wanted = language.get()
    if others := [document.name for document in documents if document.language != wanted]:
        warn(f"no script in {wanted}, so told in English: {', '.join(others)}")


class SceneCommand(click.Command):
    """The command of one step-through, and the function that makes its document."""

    def __init__(self, name: str, title: str, function: Scene, shows: str) -> None:
        shared = [_html_option(), _beside_option(), _svg_option(), _made_by(json_option)]
        shared += [_from_step_option(), _made_by(language_option)]
        self.own = list(reversed(getattr(function, "__click_params__", [])))
        chance = [_seed_option()] if "seed" in inspect.signature(function).parameters else []
        self._passed_on = [*self.own, *chance]
        super().__init__(
            name,
            params=[*self.own, *shared, *chance],
            callback=self._show,
            help=function.__doc__,
            short_help=title,
            epilog=example(shows),
        )
        self._function = function

    def document(
        self, arguments: Sequence[str] = (), parent: click.Context | None = None
    ) -> Document:
        """Return the document for some arguments; raises what the command would."""
        with self.make_context(self.name, list(arguments), parent) as ctx:
            for param in self.params:
                if param not in self._passed_on and _is_given(ctx, param):
                    option = param.opts[0]
                    raise click.UsageError(f"{option} is an option of the whole command: not here")
            own = {param.name: ctx.params[param.name] for param in self._passed_on if param.name}
            return self._function(**own)

    @property
    def takes(self) -> str:
        """What the step-through takes, as its usage has it."""
        return " ".join(map(_usage, self.own))

    def _show(
        self,
        html: Path | None,
        beside: Document | None,
        svg: Path | None,
        from_step: int,
        as_json: bool,
        **own: Any,
    ) -> None:
        if beside and not html:
            raise click.UsageError("--beside makes a page: add --html FILE")
        if html and (read := own.get("file")) and os.path.realpath(html) == os.path.realpath(read):
            raise click.UsageError(f"{html} is the file that is shown; name another one for --html")
        document = self._function(**own)
        check_step(document, from_step)
        warn_of_english([document, beside] if beside else [document])
        if html:
            page = (
                render_beside(document, beside, from_step)
                if beside
                else render_page(document, from_step=from_step)
            )
            write_output(html, page.encode())
        pictures = _write_pictures(svg, document, from_step) if svg else 0
        if as_json:
            write_document(to_json(document))
        elif html or svg:
            if html:
                steps = count(len(document.steps), "step")
                more = f" beside {len(beside.steps)}" if beside else ""
                write_line(f"{html}: {steps}{more}")
            if svg:
                write_line(f"{svg}: {count(pictures, 'picture')} of {document.name}")
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
        callback=lambda ctx, param, name: DIALECTS[name],
        help="Dialect: the message format, and the rule that names segments.",
    )


def _write_pictures(directory: Path, document: Document, from_step: int) -> int:
    """Write the picture of each step from there on that has one; return how many there are.

    Files of other numbers, which an earlier run may have left, are said.
    """
    directory.mkdir(parents=True, exist_ok=True)
    digits = max(2, len(str(len(document.steps))))
    written = set()
    for number, step in enumerate(interruptible(document.steps), start=1):
        if step.state.picture and number >= from_step:
            path = directory / f"{document.name}-{number:0{digits}}.svg"
            write_output(path, svg(step.state.picture, step.say).encode())
            written.add(path.name)
    names = re.compile(rf"{document.name}-\d+\.svg")
    found = {path.name for path in directory.iterdir() if names.fullmatch(path.name)}
    if others := sorted(found - written):
        warn(f"{directory}: not written by this run: {', '.join(others)}")
    return len(written)


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


def _to_document(ctx: click.Context, param: click.Parameter, value: str | None) -> Document | None:
    """Return the document of another step-through, from its name and its arguments."""
    if value is None:
        return None
    try:
        name, *arguments = shlex.split(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} names no step-through", ctx, param) from None
    steps = ctx.parent and ctx.parent.command
    found = steps.get_command(ctx, name) if isinstance(steps, click.Group) else None
    if not isinstance(found, SceneCommand):
        reason = f"{name!r} is no step-through: kminilog step list names them"
        raise click.BadParameter(reason, ctx, param)
    if {*arguments} & {*ctx.help_option_names}:
        raise click.BadParameter("--help is an option of the whole command: not here", ctx, param)
    return found.document(arguments, ctx.parent)


def _beside_option() -> click.Option:
    return click.Option(
        ["--beside"],
        callback=_to_document,
        metavar="STEPS",
        help="With --html: put another step-through beside this one, at the same step. In quotes: "
        'its name with its arguments, like "murmur2 --key bob".',
    )


def _svg_option() -> click.Option:
    return click.Option(
        ["--svg"],
        type=OutputDirectory(".svg"),
        metavar="DIR",
        help="Write the picture of each step to this directory, as a file for slides.",
    )


def _from_step_option() -> click.Option:
    return click.Option(
        ["--from-step"],
        type=click.IntRange(min=1),
        default=1,
        metavar="N",
        help="Number of the first step to show. With --json, all steps are printed.",
    )


def _seed_option() -> click.Option:
    return click.Option(["--seed"], type=int, default=0, help="Seed for the random generator.")


def _made_by(decorator: Callable[[Callable[[], None]], Any]) -> click.Parameter:
    """Return the option that a decorator of click adds."""

    @decorator
    def options() -> None:
        """Nothing: click keeps the option here."""

    option: click.Parameter = options.__click_params__[0]
    return option
