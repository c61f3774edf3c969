"""`kminilog playground`: the page that runs the engine in a browser, as a static folder.

    index.html  page.js  playground.css    the page
    editor.js  codemirror.js               its editor; scripts/make-codemirror makes the second
    worker.js  packages.zip  runtime/      a Python in a worker: kminilog, the labs, what they need
    service.js                             keeps all these files, for a visit without a network

The runtime is the npm package `pyodide`; the archive must have the digest below. Source: ours.
"""

import json
import tarfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import click

from kminilog.cli.playground.tasks import about, tasks_of
from kminilog.cli.shared.options import example
from kminilog.cli.shared.output import write_line
from kminilog.cli.shared.output_files import OutputDirectory, OutputFile, write_output
from kminilog.cli.step.command import SCENES, scene_command
from kminilog.course.benches.registry import BENCHES, bench_of
from kminilog.course.catalogue import DEFAULT_LANGUAGE, Catalogue
from kminilog.course.material import all_labs, labs_folder
from kminilog.course.teaching.decisions import rooms_of
from kminilog.explain.script import own_folder
from kminilog.pages import counted, render

RUNTIME_VERSION = "314.0.7"
_RUNTIME_DIGEST = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"
_RUNTIME_FILES = "pyodide.mjs pyodide.asm.mjs pyodide.asm.wasm python_stdlib.zip pyodide-lock.json"
_ARCHIVE = f"pyodide-{RUNTIME_VERSION}.tgz"
_FETCHED = f"The runtime: what `npm pack pyodide@{RUNTIME_VERSION}` fetches."
_NEEDED = ("click", "Jinja2", "MarkupSafe", "rich", "sortedcontainers")
_LEFT_OUT = {"__pycache__", ".pyc", ".so", ".pyd", "codemirror.js"}
_WITH_ARRAYS = (9, 10)  # labs that need what a browser lacks
_WITH_THREADS = ("buffer-pool",)  # so does this step-through
_ARGUMENTS = {  # what a command says of its arguments as a whole, a form says beside each field
    "file": "Name of a .log or .index file of yours, as Files shows it.  [default: a message]",
    "messages": "Messages to append, with spaces between them.  [default: fruits]",
    "topic_partition": "Topic and partition.  [default: an example]",
    "offset": "Offset to look for.",
    "line": "Line of the source.",
}
_FETCHED_BY_PYTHON = (
    "packages.zip",
    "runtime/pyodide.asm.wasm",
    "runtime/python_stdlib.zip",
    "runtime/pyodide-lock.json",
)
_ROOM = Path(__file__).parent
_PACKAGE = _ROOM.parents[1]


@click.command("playground", epilog=example("kminilog playground --dir site"))
@click.option(
    "--dir", "directory", type=OutputDirectory(".zip"), required=True, help="Folder to write."
)
@click.option("--runtime", type=Path, default=_ARCHIVE, help=_FETCHED)
@click.option(
    "--zip", "packed", type=OutputFile(".zip"), help="Write the same as one zip file, too."
)
def command(directory: Path, runtime: Path, packed: Path | None) -> None:
    """Write a page that runs the engine in a browser.

    It is a folder of static files, for any web server.
    """
    files = {path.name: path.read_bytes() for path in sorted(_ROOM.glob("*.[jc]s*"))}
    files |= {**dict(_runtime_files(runtime)), "packages.zip": _zip_file(_package_files())}
    files["index.html"] = _page(sum(len(files[name]) for name in _FETCHED_BY_PYTHON))
    kept = json.dumps({name: sha256(data).hexdigest() for name, data in files.items()})
    files["service.js"] = files["service.js"].replace(b"KEPT", kept.encode(), 1)
    (directory / "runtime").mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        write_output(directory / name, data)
    if packed:
        write_output(packed, _zip_file(files))
    size = counted(sum(map(len, files.values())), "byte")
    write_line(f"{directory}: {size}; look at it: python -m http.server --directory {directory}")


def _runtime_files(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the runtime; UsageError if the archive is not there, or another one."""
    data = archive.read_bytes() if archive.is_file() else b""
    if sha256(data).hexdigest() != _RUNTIME_DIGEST:
        fault = f"is not {_ARCHIVE}" if data else "is not there"
        raise click.UsageError(f"{archive} {fault}; type: npm pack pyodide@{RUNTIME_VERSION}")
    with tarfile.open(fileobj=BytesIO(data)) as packed:
        for name in _RUNTIME_FILES.split():
            if file := packed.extractfile(f"package/{name}"):
                yield f"runtime/{name}", file.read()


def _page(fetched_bytes: int) -> bytes:
    """Return the page, with a form for each step-through and the exercises that need no Spark."""
    catalogue = Catalogue(DEFAULT_LANGUAGE)
    labs = [lab for lab in all_labs() if lab.number not in _WITH_ARRAYS]
    return render(
        "playground.html",
        scenes=[scene_command(name) for name in SCENES if name not in _WITH_THREADS],
        benches=[bench_of(name) for name in BENCHES],
        labs=labs,
        tasks=[task for lab in labs for task in tasks_of(lab, catalogue)],
        abouts={lab.number: about(lab, catalogue) for lab in labs},
        rooms=rooms_of([]),
        catalogue=catalogue,
        arguments=_ARGUMENTS,
        fetched_bytes=fetched_bytes,
    ).encode()


def _zip_file(files: Mapping[str, bytes]) -> bytes:
    packed = BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(ZipInfo(name), data, ZIP_DEFLATED)
    return packed.getvalue()


def _package_files() -> dict[str, bytes]:
    """Return kminilog, its labs and the packages that it needs, without what runs nowhere else."""
    found = {}
    for name, path in dict(_installed_files()).items():
        parts = Path(name).parts
        is_hidden = any(part.startswith(".") for part in parts)  # or elsewhere, by ..
        if path.is_file() and not (is_hidden or _LEFT_OUT & {*parts, path.suffix}):
            found[name] = path.read_bytes()
    return found


def _installed_files() -> Iterator[tuple[str, Path]]:
    """Yield the name and the place of each file; licences of what is installed among them."""
    from importlib.metadata import distribution  # `kminilog --help` does not need it

    for name, folder in ((_PACKAGE.name, _PACKAGE), (f"{_PACKAGE.name}/labs", labs_folder())):
        for path in folder.rglob("*"):
            yield f"{name}/{path.relative_to(folder).as_posix()}", _own_or(path)
    for needed in _NEEDED:
        for file in distribution(needed).files or ():
            yield file.as_posix(), Path(str(file.locate()))


def _own_or(path: Path) -> Path:
    """Return the lecturer's own form of a script, if there is one; else the path itself."""
    own = own_folder()
    mine = own and own / path.parent.name / path.name
    return mine if mine and mine.is_file() and path.parent.parent.name == "scripts" else path
