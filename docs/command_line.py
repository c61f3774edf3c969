"""The directive `command-line`: an entry for each command and each option, read from click itself.

An entry says what `--help` says, word for word; nothing of it is read as markup but backticks.
"""

import re

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from kminilog.cli.main import main


def _words(text: str) -> list[nodes.Node]:
    """Return a text in one line, with code where it has backticks."""
    parts = re.split(r"`([^`]+)`", " ".join(text.split()))
    return [nodes.literal("", one) if odd % 2 else nodes.Text(one) for odd, one in enumerate(parts)]


def _paragraphs(text: str) -> list[nodes.Node]:
    return [nodes.paragraph("", "", *_words(one)) for one in re.split(r"\n\s*\n", text.strip())]


def _place(ctx: click.Context) -> str:
    return nodes.make_id(ctx.command_path)


class CommandLine(SphinxDirective):
    """`kminilog`, and all its commands in the order in which it lists them, with their options."""

    def run(self) -> list[nodes.Node]:
        """Return what stands below the heading `kminilog`."""
        return self._entry(click.Context(main, info_name="kminilog"))

    def _entry(self, ctx: click.Context) -> list[nodes.Node]:
        command = ctx.command
        usage = command.get_usage(ctx).removeprefix("Usage: ")
        entry = [nodes.literal_block("", usage, language="text"), *_paragraphs(command.help or "")]
        options = [one for one in command.params if isinstance(one, click.Option)]
        example = (command.epilog or "").split("\n  ")[1:]
        entry += [nodes.literal_block("", f"$ {one}", language="console") for one in example]
        entry.append(nodes.definition_list("", *(self._option(one, ctx) for one in options)))
        if isinstance(command, click.Group):
            below = [
                click.Context(command.get_command(ctx, name), info_name=name, parent=ctx)
                for name in command.list_commands(ctx)
            ]
            entry.append(nodes.bullet_list("", *map(_link, below)))
            for inner in below:
                title = nodes.title("", inner.command_path)
                entry.append(nodes.section("", title, *self._entry(inner), ids=[_place(inner)]))
        return entry

    def _option(self, option: click.Option, ctx: click.Context) -> nodes.Node:
        names, text = option.get_help_record(ctx)
        place = _place(ctx) + option.opts[0]
        domain = self.env.domains.standard_domain
        domain.add_program_option(ctx.command_path, option.opts[0], self.env.docname, place)
        term = nodes.term("", "", nodes.literal("", names), ids=[place])
        return nodes.definition_list_item("", term, nodes.definition("", *_paragraphs(text)))


def _link(ctx: click.Context) -> nodes.Node:
    name = nodes.literal("", ctx.info_name)
    link = nodes.reference("", "", name, refid=_place(ctx), internal=True)
    text = nodes.Text(f": {ctx.command.get_short_help_str(200)}")
    return nodes.list_item("", nodes.paragraph("", "", link, text))


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("command-line", CommandLine)
