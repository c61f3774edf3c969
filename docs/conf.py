"""How Sphinx builds these pages; the rest of the configuration is what `make docs` passes."""

import tomllib
from pathlib import Path

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
