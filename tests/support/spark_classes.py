"""An archive of the classes that Spark loads, with which the JVMs of the tests start in half the
time (Java's class data sharing): some twenty of them, each for a job of a second.

    python -m tests.support.spark_classes FILE

writes it, after an ingest and a verification. A JVM takes no notice of it if it comes from another
Java or another Spark, or if the files from which it was made are gone.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

ARCHIVE = Path(__file__).parents[2] / ".cache" / "spark-classes.jsa"
# Jobs of a second do not pay for the compiler that optimises, nor for a garbage collector with
# threads.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xlog:disable"
# Spark makes Java code of each query and compiles it. That pays for millions of rows: a test with a
# few hundred takes a third less time where Spark interprets the query.
INTERPRETED = "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"


def jvm_options(*, interpreted: bool = True) -> str:
    """Return the options of each JVM that Spark starts for these tests, in whatever process.

    With `interpreted=False` Spark compiles its queries, as it does for users.
    """
    options = f"{QUICK} {INTERPRETED}" if interpreted else QUICK
    return f'{options} "-XX:SharedArchiveFile={ARCHIVE}"' if ARCHIVE.exists() else options


def write(archive: Path) -> None:
    """Write the archive; it is whole or not there."""
    archive.parent.mkdir(exist_ok=True)
    os.environ["SPARK_HOME"] = str(_lasting_home(archive.with_name("spark-home")))
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
        unfinished = Path(directory, archive.name)
        os.environ["SPARK_SUBMIT_OPTS"] = (
            f'{QUICK} {INTERPRETED} "-XX:ArchiveClassesAtExit={unfinished}"'
        )
        _use_spark(Path(directory))
        unfinished.rename(archive)


def _lasting_home(home: Path) -> Path:
    """Make a SPARK_HOME of links that stays: a JVM uses the archive only while its files exist."""
    import pyspark

    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    for name in ("bin", "jars"):
        (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    return home


def _use_spark(directory: Path) -> None:
    from click.testing import CliRunner

    from kminilog.cli.main import main
    from kminilog.jobs.spark.runtime.session import spark_session

    spark = spark_session("local[2]", config={"spark.sql.warehouse.dir": str(directory / "none")})
    source = directory / "source.csv"
    source.write_text("key,value\n" + "k,v\n" * 100)
    reading = [source, "--format", "csv", "--key", "key", "--value", "value"]
    for command in (
        ["ingest", *reading, "--topic", "t"],
        ["verify", "t", "--against", *reading],
    ):
        words = ["--log-dir", directory / "log", *command]
        result = CliRunner().invoke(main, [str(word) for word in words])
        assert result.exit_code == 0, (command, result.output)
    jvm = spark.sparkContext._gateway.proc
    spark.stop()
    jvm.stdin.close()  # which ends it, and it writes then
    jvm.wait()


if __name__ == "__main__":
    write(Path(sys.argv[1]))
