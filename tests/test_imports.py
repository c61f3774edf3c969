"""What works where an operating system lacks modules, as Python in a browser does."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes

PROJECT = Path(__file__).parents[1]
WITHOUT = """
import sys
import sysconfig
sysconfig.get_config_vars()  # those of this machine, before it is another one
sys.platform = "emscripten"
for name in ("fcntl", "resource", "termios", "tty"):
    sys.modules[name] = None
from importlib import import_module
from pkgutil import walk_packages

import kminilog
rooms = "format", "partitioners", "storage", "producer", "consumer", "cluster", "course", "cli"
for room in rooms:
    package = import_module(f"kminilog.{room}")
    for module in walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)

from kminilog.cli.step.command import SCENES, scene_command
from kminilog.explain.page import render_page
for name in SCENES:
    try:
        page = render_page(scene_command(name).document())
        print(name, page.endswith("</html>\\n"))
    except ImportError as error:
        print(name, error)
"""


def test_engine_labs_and_commands_need_no_module_of_an_operating_system(tmp_path):
    command = [sys.executable, "-c", WITHOUT]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert {line.split()[1] for line in run.stdout.splitlines()} == {"True"}, run.stdout
