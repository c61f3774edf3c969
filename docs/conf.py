"""How Sphinx builds these pages; the rest of the configuration is what `make docs` passes.

Step-throughs come from the engine itself: their pages are written once the other pages are there.
"""

import sys
import tomllib
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from kminilog.cli.step.command import scene_command, write_pages
from kminilog.course.benches.registry import BENCHES
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
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_extra_path = ["trace-1.schema.json", "lab-check-1.schema.json"]

_FRAME = """<figure class="step-through">
<iframe src="{page}" title="{title}" loading="lazy" allowfullscreen></iframe>
<figcaption>{title} <a href="{page}">Open it alone</a>, or type
<code>kminilog step {name}</code>.{own}</figcaption>
</figure>"""
_OWN = ' <a href="{playground}">Try it with your own</a>.'
_BENCH_OF = {"flip": "record", **{name: name for name in BENCHES}}
_NEEDS_THREADS = "buffer-pool"  # which a browser does not have


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
        title = scene_command(name).short_help
        html = _FRAME.format(name=name, page=page, title=title, own=own)
        return [nodes.raw("", html, format="html")]


def _write_steps(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        index = "../step-throughs.html#all-step-throughs"
        write_pages(Path(app.outdir, "step-throughs"), index=index)


def _skip_fields(
    app: Sphinx, kind: str, name: str, member: object, *options: object
) -> bool | None:
    """Leave out the fields of a tuple: its signature has them."""
    return True if isinstance(member, type(TopicPartition.topic)) else None


def setup(app: Sphinx) -> None:
    """Add step-throughs to what Sphinx builds."""
    app.connect("autodoc-skip-member", _skip_fields)
    app.add_directive("step-through", StepThrough)
    app.connect("build-finished", _write_steps)
