"""kminilog as one file, which Spark brings to the executors: nobody has to install it there.

A Python worker looks into the file before it looks anywhere else. So all executors have the
driver's kminilog, also where another one is installed. Python keeps no compiled form of what it
imports from an archive; so the file has that too, and a worker of the same Python starts as fast as
with an installed kminilog. What kminilog needs is not in the file (executor_checks.py), nor are its
command line and the course, which no task imports.
"""

import marshal
import zipfile
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path

from pyspark.sql import SparkSession

from kminilog.jobs.spark.runtime.session import context_of, directory_of_process, is_local

_UNCHECKED_HASH = (1).to_bytes(4, "little")  # PEP 552: used without a look at the source
_NAME = "kminilog.zip"
_LEFT_OUT = ("cli", "course", "labs")


def ship(spark: SparkSession) -> None:
    """Bring kminilog to all executors, also to those that join later. Idempotent.

    Does nothing with a local master. The first call of a process reads the whole package. Raises
    SparkUnavailableError for Spark Connect.
    """
    context = context_of(spark)
    if is_local(str(context.master)):
        return
    if not any(url.endswith(f"/{_NAME}") for url in context.listFiles):
        context.addPyFile(str(_archive()))


@cache
def _archive() -> Path:
    """Return an archive of the package; it is deleted when this process ends."""
    archive = directory_of_process("kminilog-shipped-") / _NAME
    (package,) = import_module("kminilog").__path__
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for path in sorted(Path(package).rglob("*.py")):
            name = path.relative_to(package)
            if name.parts[0] not in _LEFT_OUT:
                source = path.read_bytes()
                file.writestr(f"kminilog/{name}", source)
                file.writestr(f"kminilog/{name}c", _compiled(path, source))
    return archive


def _compiled(path: Path, source: bytes) -> bytes:
    """Return a module as a .pyc file; takes it from Python's cache if it is there."""
    code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
    return MAGIC_NUMBER + _UNCHECKED_HASH + source_hash(source) + marshal.dumps(code)
