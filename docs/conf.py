"""How Sphinx builds these pages; the rest of the configuration is what `make docs` passes.

The pages of the step-throughs come from the engine itself, once the other pages are there.
"""

import tomllib
from pathlib import Path

from sphinx.application import Sphinx

from kminilog.cli.step.command import write_pages

_project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]

project = _project["name"]
release = version = _project["version"]
author = _project["authors"][0]["name"]
copyright = f"2026, {author}"

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"{project} {version}"
html_copy_source = False
html_extra_path = ["trace-1.schema.json", "lab-check-1.schema.json"]


def _write_steps(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        write_pages(Path(app.outdir, "step-throughs"))


def setup(app: Sphinx) -> None:
    """Add the step-throughs to what Sphinx builds."""
    app.connect("build-finished", _write_steps)
