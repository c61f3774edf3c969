"""How Sphinx builds these pages; the rest of the configuration is what `make docs` passes.

Step-throughs come from the engine itself: their pages are written once the other pages are there.
So is a page in the place of the playground, which `make playground` writes.
"""

import sys
import tomllib
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from kminilog.cli.step.command import scene_command, write_pages
from kminilog.course.benches.registry import BENCHES
from kminilog.explain.drawing import svg
from kminilog.format.names import TopicPartition

sys.path.insert(0, str(Path(__file__).parent))  # the directives beside this file
_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = _project["name"]
release = version = _project["version"]
author = _project["authors"][0]["name"]
copyright = f"2026, {author}"

extensions = [
    "command_line",
    "floor_plan",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
]
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
smartquotes = False  # two hyphens begin an option
default_role = "code"  # what docstrings have in single backticks
autodoc_default_options = {
    "members": True,
    # but not of these, whose methods everybody knows
    "inherited-members": "object, tuple, BaseException",
}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
add_module_names = False
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 120
nitpick_ignore_regex = [("py:.*", ".*")]  # types in signatures that are not public
# Only the commands are copied, without their prompt and what they print.
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"

html_theme = "furo"
html_title = f"{project} {version}"
html_copy_source = False
html_static_path = ["_static"]
html_favicon = "../kminilog/templates/icon.svg"
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_extra_path = ["trace-1.schema.json", "lab-check-1.schema.json"]

_FRAME = """<figure class="step-through">
<iframe src="{page}" title="{title}" loading="lazy" allowfullscreen></iframe>
<img class="on-paper" src="data:image/svg+xml,{picture}" alt="">
<figcaption>{title} <a href="{page}">Open it alone</a>, or type
<code>kminilog step {name}</code>.{own}</figcaption>
</figure>"""
_OWN = ' <a href="{playground}">Try it with your own</a>.'
_BENCH_OF = {
    **{name: name for name in BENCHES},
    "flip": "record",
    "append-roll": "log",
    "torn-tail": "log",
    "rebalance": "group",
    "acks": "cluster",
    "failover": "cluster",
}
_NEEDS_THREADS = "buffer-pool"  # which a browser does not have
_OPEN = "Open the playground"
# `make docs` writes the playground over it, if npm is there.
_NOT_MADE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The playground is not here yet</title>
<body style="font: 1.125rem sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem">
<h1>The playground is not here yet</h1>
<p>Type <code>make playground</code> in the folder of the project. It needs npm, and writes the
playground to this place. <a href="../playground.html">What the playground is</a></p>
"""


class StepThrough(SphinxDirective):
    """A step-through inside a page, which may begin at a step: `{step-through} murmur2 5`.

    Its content is the command that shows the same: other viewers of Markdown show that.
    """

    required_arguments = 1
    optional_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the frame."""
        name, number = (*self.arguments, "1")[:2]
        command = " --from-step ".join(("kminilog step " + name, *self.arguments[1:]))
        if list(self.content) != [command]:
            raise self.error(f"the content must be the command: {command}")
        up = "../" * self.env.docname.count("/")
        page = f"{up}step-throughs/{name}.html#step/{number}"
        playground = f"{up}playground/#{_BENCH_OF.get(name, f'step?scene={name}')}"
        own = "" if name == _NEEDS_THREADS else _OWN.format(playground=playground)
        step = scene_command(name).document().steps[int(number if self.arguments[1:] else 0) - 1]
        picture = quote(svg(step.state.picture)) if step.state.picture else ""
        title = scene_command(name).short_help
        html = _FRAME.format(name=name, page=page, title=title, picture=picture, own=own)
        return [nodes.raw("", html, format="html")]


class Playground(SphinxDirective):
    """A button that opens the playground.

    Its content is the command that writes it: other viewers of Markdown show that.
    """

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the button."""
        if list(self.content) != ["make playground"]:
            raise self.error("the content must be the command: make playground")
        page = "../" * self.env.docname.count("/") + "playground/index.html"
        return [nodes.raw("", f'<p><a class="button" href="{page}">{_OPEN}</a></p>', format="html")]


def _write_others(app: Sphinx, error: Exception | None) -> None:
    """Write the step-throughs, and what stands in the playground's place until it is made."""
    if error is None and app.builder.format == "html":
        index = "../step-throughs.html#all-step-throughs"
        write_pages(Path(app.outdir, "step-throughs"), index=index)
        page = Path(app.outdir, "playground", "index.html")
        if not page.exists():
            page.parent.mkdir()
            page.write_text(_NOT_MADE)


def _skip_fields(
    app: Sphinx, kind: str, name: str, member: object, *options: object
) -> bool | None:
    """Leave out the fields of a tuple: its signature has them."""
    return True if isinstance(member, type(TopicPartition.topic)) else None


def setup(app: Sphinx) -> None:
    """Add step-throughs to what Sphinx builds."""
    app.connect("autodoc-skip-member", _skip_fields)
    app.add_directive("step-through", StepThrough)
    app.add_directive("playground", Playground)
    app.connect("build-finished", _write_others)
