"""The command `kminilog`: its list of commands, and the one place that knows exit codes.

    0    done, nothing wrong
    1    it ran, and the answer is no: findings, an offset out of range
    2    it could not be done: usage, a missing file, unreadable input, broken settings
    130  ended by Ctrl-C        143  by SIGTERM
    141  ended because the output was closed; all three without a message

A command returns its exit code, nothing for 0, or raises. Each error becomes one line on stderr,
`kminilog: <what, where, what to do>`; a traceback only with `--debug`. A command's module is
imported when it is called, so that no command loads what another needs. Source: ours.
"""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from traceback import format_exception
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from kminilog.cli.shared.cluster_option import CLUSTER_COMMANDS, placed
from kminilog.cli.shared.interrupts import check_interrupt, interrupted_exit_code, interrupts_heard
from kminilog.cli.shared.named_files import DirectoryName
from kminilog.cli.shared.options import ARGUMENTS, CLUSTER, example, to_directory
from kminilog.cli.shared.output import complain, flush, flush_stderr, lose_rest_of, warn
from kminilog.errors import KMiniLogError, OffsetOutOfRangeError, in_words
from kminilog.storage.partition.notices import KMiniLogWarning

COMMANDS = {
    "demo": "demo",
    "topic": "topic",
    "produce": "produce.command",
    "consume": "consume.command",
    "find": "find",
    "dump": "dump.command",
    "ls": "ls.command",
    "verify": "verify.command",
    "recover": "recover",
    "retain": "retain",
    "compact": "compact",
    "ingest": "ingest",
    "partition": "partition",
    "assign": "assign",
    "serve": "serve",
    "cluster": "cluster.command",
    "group": "group.command",
    "step": "step.command",
    "lab": "lab.command",
    "course": "course.command",
    "playground": "playground.command",
}
"""The module of each command, in the order in which a new user needs them."""
OF_COURSE = ("step", "lab", "course", "playground")
"""The commands that need the folder `course`. Without it, all others work."""
NEEDED_BY = {
    **dict.fromkeys(OF_COURSE, ("course",)),
    "serve": ("wire", "broker_files", "format.later_formats"),
}
"""What such a command needs of the package; without it, it is not listed."""
WITHOUT_CLUSTER = {
    "cluster": "name the directory after the command",
    "dump": "leave it out, and name a file of a broker, like {path}/broker-0/TOPIC-0/FILE",
    "ingest": "it writes into a log dir; `kminilog --cluster {path} produce TOPIC FILE` writes "
    "into a cluster",
    **dict.fromkeys(
        ("compact", "recover", "step"), "name the log dir of a broker: --log-dir {path}/broker-0"
    ),
}
"""What to do in place of giving such a command --cluster; any other command needs no topics."""
_INSTALL_BULK = "pip install 'kminilog[bulk]', or 'kminilog[spark]' to use Spark"
INSTALLED_BY = {
    **dict.fromkeys(("msgspec", "numpy", "pyarrow", "xxhash"), _INSTALL_BULK),
    "pyspark": "pip install 'kminilog[spark]'",
}
"""Packages that only some commands need, and what installs each."""
ANSWER_IS_NO = 1
NOT_DONE = 2
CLOSED_PIPE = 141


class CommandLine(click.Group):
    """A group that imports a command when it is needed, and turns what it raises into a line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, which every command can read in the context."""
        ctx.meta[ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands for which all is there that they need."""
        needed = {part for parts in NEEDED_BY.values() for part in parts}
        missing = {part for part in needed if find_spec(f"kminilog.{part}") is None}
        return [name for name in COMMANDS if not missing & {*NEEDED_BY.get(name, ())}]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"kminilog.cli.{COMMANDS[cmd_name]}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to call: for a Kafka broker's directory, the one that reads it."""
        name, command, words = super().resolve_command(ctx, args)
        if find_spec("kminilog.cli.broker_files"):
            door = import_module("kminilog.cli.broker_files.door")
            command = door.command_for(ctx, name, words) or command
        return name, command, words

    def main(  # type: ignore[override]
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run the command line and end the process with its exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        # The caller may have closed a stream: the null device takes its place.
        sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115 - to the end of the process
        sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
        sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
        with interrupts_heard(), _notices_in_one_line():
            code = _run(self, arguments, extra)
            flush_stderr()
        sys.exit(code)


@click.group(
    cls=CommandLine,
    invoke_without_command=True,
    epilog=example("kminilog topic create fruit --partitions 2"),
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.option(
    "--log-dir",
    envvar="KMINILOG_LOG_DIR",
    default=Path("kminilog-data"),
    show_default="./kminilog-data",
    type=DirectoryName(),
    help="Directory that holds the topics, or that of a Kafka broker, which is only read. The "
    "environment variable KMINILOG_LOG_DIR sets it, too.",
)
@click.option(
    "--cluster",
    metavar="DIR",
    type=to_directory,
    help="Directory of a cluster (`kminilog cluster create`), in place of --log-dir: for "
    f"{', '.join(CLUSTER_COMMANDS)}.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the result as JSON, as --json after the command does.",
)
@click.option("--debug", is_flag=True, help="Show the traceback if an error occurs.")
@click.option("--version", is_flag=True, help="Print the version and exit.")
@click.pass_context
def main(
    ctx: click.Context,
    log_dir: Path,
    cluster: Path | None,
    as_json: bool,
    debug: bool,
    version: bool,
) -> int | None:
    """A log store that works as Kafka's does, written to be read."""
    ctx.obj = log_dir if cluster is None else _cluster(ctx, cluster)
    ctx.meta[CLUSTER] = cluster
    if version:
        # The package is no room of the floor plan, so no import statement may name it.
        click.echo(f"kminilog {import_module('kminilog').__version__}")
        ctx.exit()
    if ctx.invoked_subcommand is None:
        for line in ctx.get_help().splitlines():
            complain(line)
        return NOT_DONE
    return None


def _cluster(ctx: click.Context, path: Path) -> Path:
    """Return the directory of the cluster, if it can stand in place of the log dir."""
    if ctx.get_parameter_source("log_dir") is ParameterSource.COMMANDLINE:
        raise click.UsageError("give --log-dir or --cluster, not both", ctx)
    if ctx.invoked_subcommand not in (*CLUSTER_COMMANDS, None):
        name = str(ctx.invoked_subcommand)
        told = f"`{name}` does not take --cluster: {_without_cluster(name, path)}"
        raise click.UsageError(told, ctx)
    return path


def _without_cluster(name: str, path: Path | str) -> str:
    """What to do in place of giving a command --cluster, which it does not take."""
    return WITHOUT_CLUSTER.get(name, "leave it out, no topics are needed").format(path=path)


@contextmanager
def _notices_in_one_line() -> Iterator[None]:
    """Write each notice of ours to stderr as an error is written; other warnings as Python does."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", KMiniLogWarning)
        shown = warnings.showwarning

        def show(text: Warning | str, category: type[Warning], *place: Any) -> None:
            warn(str(text)) if category is KMiniLogWarning else shown(text, category, *place)

        warnings.showwarning = show  # type: ignore[assignment] # it takes all that is passed
        yield


def _run(group: click.Group, arguments: list[str], extra: dict[str, Any]) -> int:
    is_debug, ctx = "--debug" in arguments, None
    try:
        with group.make_context("kminilog", arguments, **extra) as ctx:
            code = _invoke(group, ctx)
        flush()
        return code
    except click.exceptions.Exit as end:
        return end.exit_code
    except BrokenPipeError:
        lose_rest_of(sys.stdout)
        return CLOSED_PIPE
    except Exception as error:  # noqa: BLE001 - the one place where every error becomes a line
        if is_debug:
            for line in "".join(format_exception(error)).splitlines():
                complain(line)
        called = "kminilog"
        with suppress(ModuleNotFoundError):  # of the command itself, or of one beside it
            called = _called(group, arguments)
        line = _in_one_line(error, called)
        for note in getattr(error, "__notes__", ()):
            line = f"{line.removesuffix('.')}; {note}"  # Kafka's sentences end with a full stop
        warn(placed(line, ctx.meta.get(CLUSTER) if ctx else None))
        return ANSWER_IS_NO if isinstance(error, OffsetOutOfRangeError) else NOT_DONE


def _called(group: click.Group, arguments: list[str]) -> str:
    """The command that these words call, as far as they go, such as `kminilog topic list`."""
    command: click.Command = group
    names = ["kminilog"]
    for word in arguments:
        context = click.Context(command)
        below = command.get_command(context, word) if isinstance(command, click.Group) else None
        if below:
            command = below
            names.append(word)
    return " ".join(names)


def _invoke(group: click.Group, ctx: click.Context) -> int:
    try:
        code = int(group.invoke(ctx) or 0)
        check_interrupt()  # a signal counts even if it came when the work was done
    except KeyboardInterrupt:
        return interrupted_exit_code()
    return code


def _group_alone(error: Exception) -> click.Context | None:
    """The context of a group that was called without a command; None for any other error."""
    if not isinstance(error, click.UsageError) or not error.message.startswith("Missing command"):
        return None
    return error.ctx if error.ctx and isinstance(error.ctx.command, click.Group) else None


def _before_command(error: click.UsageError, called: str) -> str:
    """Where to write an option of `kminilog` itself; empty for any other error."""
    option = error.option_name if isinstance(error, click.NoSuchOption) else ""
    name = called.removeprefix("kminilog ")
    if option == "--cluster" and name.split()[0] not in CLUSTER_COMMANDS:
        return _without_cluster(name.split()[0], "DIR")
    if option not in ("--log-dir", "--cluster", "--debug"):
        return ""
    given = option if option == "--debug" else f"{option} DIR"
    return f"write it before the command: `kminilog {given} {name}`"


def _near(error: click.UsageError) -> str:
    """What a user may have meant by an unknown option or command; empty if there is no guess."""
    from difflib import get_close_matches

    given = getattr(error, "command_name", None)
    group = error.ctx.command if error.ctx else None
    near = list(getattr(error, "possibilities", None) or ())
    if given and error.ctx and isinstance(group, click.Group):
        near = get_close_matches(given, group.list_commands(error.ctx))
    return " or ".join(map(repr, near))


def _in_one_line(error: Exception, called: str) -> str:
    group = _group_alone(error)
    if group:
        known = ", ".join(group.command.list_commands(group))  # type: ignore[attr-defined]
        return f"name a command of `{group.command_path}`: {known}"
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else called
        place, near = _before_command(error, command), _near(error)
        if place:
            return f"{error.message.rstrip('.')}: {place}; see `{command} --help`"
        if near:
            return f"{error.message} Did you mean {near}? See `{command} --help`"
        message = " ".join(error.format_message().split()).rstrip(".")
        message = message.replace("is not a valid integer range", "is no whole number")
        return f"{message}; see `{command} --help`"
    if isinstance(error, click.ClickException):
        return error.format_message()
    if isinstance(error, (KMiniLogError, ValueError)) or getattr(error, "strerror", None):
        return in_words(error)
    package, _, room = str(getattr(error, "name", "")).partition(".")
    if isinstance(error, ModuleNotFoundError) and package in INSTALLED_BY:
        return f"this needs {package}, which is not installed; type: {INSTALLED_BY[package]}"
    if isinstance(error, ModuleNotFoundError) and package == "kminilog":
        folder = room.replace(".", "/")
        return (
            f"this needs the folder kminilog/{folder}, which is not there; install all of kminilog"
        )
    first_line = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {first_line}; `kminilog --debug …` shows where"


if __name__ == "__main__":
    main()
