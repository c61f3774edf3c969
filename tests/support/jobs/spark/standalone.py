"""A standalone master of Spark and its workers, on this machine, each with a Python of its own.

A worker stands for another machine: it has another PATH, so `python3` is another environment there,
in which kminilog is not installed.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pyspark

from tests.support.processes import end_at_once
from tests.support.spark_classes import jvm_options

NEEDED = ("msgspec", "numpy", "pyarrow", "sortedcontainers", "xxhash")
_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile("Successfully registered with master")


def make_environment(directory: Path, packages: Sequence[str] = NEEDED) -> Path:
    """Make a virtual environment with just these packages of this one; return its `bin`."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(directory)]
    subprocess.run(command, check=True)
    (installed,) = directory.glob("lib/python*/site-packages")
    for package in packages:
        found = find_spec(package)
        assert found
        assert found.origin
        origin = Path(found.origin)
        origin = origin.parent if origin.name == "__init__.py" else origin
        for path in (origin, *origin.parent.glob(f"{package}[-.]*")):
            if not (installed / path.name).exists():
                (installed / path.name).symlink_to(path)
    return directory / "bin"


class StandaloneCluster:
    """A master, and a worker with one core for each environment."""

    def __init__(self, directory: Path, environments: Sequence[Path]) -> None:
        """Start the processes; `environments` are the `bin` directories of the workers."""
        self._directory, self._environments = directory, environments
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        try:
            self.url = self._start("master", "Master", [], None, _STARTED)
            self.mend()
        except BaseException:
            self.stop()
            raise

    @property
    def sessions(self) -> list[int]:
        """The sessions of the operating system's in which the workers and their executors live."""
        return [process.pid for name, process in self._processes.items() if name != "master"]

    def mend(self) -> None:
        """Start each worker that does not live."""
        work = ["--cores", "1", "--memory", "1g", "--work-dir", str(self._directory / "work")]
        for number, path in enumerate(self._environments):
            name = f"worker-{number}"
            if name not in self._processes or self._processes[name].poll() is not None:
                self._start(name, "Worker", [*work, self.url], path, _REGISTERED)

    def stop(self) -> None:
        """Kill the processes, and their executors."""
        for process in self._processes.values():
            end_at_once(process)

    def _start(
        self, name: str, kind: str, words: list[str], path: Path | None, begun: re.Pattern[str]
    ) -> str:
        home, log = Path(pyspark.__file__).parent, self._directory / f"{name}.log"
        command = [
            str(home / "bin" / "spark-class"),
            f"org.apache.spark.deploy.{kind.lower()}.{kind}",
        ]
        command += ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *words]
        with open(log, "wb") as file:
            process = self._processes[name] = subprocess.Popen(
                command,
                env=_environment(home, path),
                cwd=self._directory,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        while not (found := begun.search(log.read_text())):
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
        return found[found.re.groups]


def _environment(home: Path, path: Path | None) -> dict[str, str]:
    kept = {
        name: os.environ[name] for name in ("JAVA_HOME", "LANG", "TMPDIR") if name in os.environ
    }
    java = Path(which("java") or "java").parent
    paths = [str(one) for one in (path, java, "/usr/bin", "/bin") if one]
    options = {"SPARK_DAEMON_JAVA_OPTS": jvm_options(), "SPARK_DAEMON_MEMORY": "256m"}
    return {**kept, **options, "SPARK_HOME": str(home), "PATH": os.pathsep.join(paths)}
