"""`kminilog step`: the step-throughs, listed, one by one or all as pages.

Each name leads to a module of this folder, which is imported when it is needed. Source: ours.
"""

from importlib import import_module
from pathlib import Path

import click
from click.core import ParameterSource

from kminilog.cli.shared.interrupts import interruptible
from kminilog.cli.shared.options import example, json_option
from kminilog.cli.shared.output import write_document, write_line, write_table
from kminilog.cli.shared.output_files import OutputDirectory, write_output
from kminilog.cli.step.scene import SceneCommand, language_option, warn_of_english
from kminilog.explain.page import INDEX_PAGE, Listed, render_index, render_page
from kminilog.text import count

# In the order of a course: what a message is, where it stands, how it gets there and back.
SCENES = {
    "record": "message",
    "docs-vs-bytes": "message",
    "null-or-empty": "message",
    "flip": "message",
    "today": "message",
    "append-roll": "segment",
    "sparse-index": "segment",
    "torn-tail": "segment",
    "rebuild-index": "segment",
    "find-offset": "lookup",
    "edges": "lookup",
    "murmur2": "producer",
    "sticky": "producer",
    "buffer-pool": "producer",
    "failover": "producer",
    "acks": "producer",
    "range": "consumer",
    "rebalance": "consumer",
    "streams": "consumer",
    "journey": "consumer",
    "wire": "network",
}


def scene_command(name: str) -> SceneCommand:
    """Return the command of a step-through by its name in SCENES."""
    module = import_module(f"kminilog.cli.step.{SCENES[name]}")
    found: SceneCommand = getattr(module, name.replace("-", "_"))
    return found


class Steps(click.Group):
    """A group whose commands are the step-throughs, and `list`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return ["list", *SCENES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in SCENES:
            return scene_command(cmd_name)
        return super().get_command(ctx, cmd_name)


@click.group(
    "step",
    cls=Steps,
    no_args_is_help=False,
    invoke_without_command=True,
    epilog=example("kminilog step murmur2 --key TT0124"),
)
@click.option("--all", "is_all", is_flag=True, help="Write all step-throughs, as pages.")
@click.option(
    "--html",
    "directory",
    type=OutputDirectory(),
    metavar="DIR",
    help="With --all: directory for the pages, and for one that lists them.",
)
@language_option
@click.pass_context
def command(ctx: click.Context, is_all: bool, directory: Path | None) -> None:
    """Step through what the engine does, byte by byte."""
    if ctx.invoked_subcommand:
        if ctx.get_parameter_source("language") is ParameterSource.COMMANDLINE:
            raise click.UsageError("--language stands after the name, or with --all")
        if is_all or directory:
            raise click.UsageError(
                "--all and --html DIR need no name; after a name it is --html FILE"
            )
    elif is_all and directory:
        written = write_pages(directory)
        write_line(f"{directory / INDEX_PAGE}: {count(written, 'step-through')}")
    elif is_all or directory:
        raise click.UsageError("write both: kminilog step --all --html DIR")
    else:
        raise click.UsageError("Missing command", ctx)


def write_pages(directory: Path, index: str | None = None) -> int:
    """Write the page of each step-through, and one that lists them; return how many there are.

    With `index`, the link to a page that lists them already, it writes no list.
    """
    directory.mkdir(parents=True, exist_ok=True)
    listed = []
    for name in interruptible(SCENES):
        found = scene_command(name)
        document = found.document()
        page = render_page(document, index=index or INDEX_PAGE)
        write_output(directory / f"{name}.html", page.encode())
        listed.append(Listed(name, found.short_help or "", found.takes, document))
    if index is None:
        write_output(directory / INDEX_PAGE, render_index(listed).encode())
    warn_of_english([each.document for each in listed])
    return len(listed)


@command.command("list", epilog=example("kminilog step list"))
@json_option
def list_all(as_json: bool) -> None:
    """List the step-throughs, and what each takes."""
    scenes = map(scene_command, SCENES)
    found = [{"name": one.name, "title": one.short_help, "takes": one.takes} for one in scenes]
    if as_json:
        write_document(found)
    else:
        write_table(("name", "title", "takes"), [list(one.values()) for one in found])
