"""A Spark cluster with executors of their own, and the commands that are run on it, in turn.

Says "ready"; then takes lines, each the arguments of a command as JSON, and answers with its exit
code, stdout and stderr. `--python FILE` in front of a command: the executors' Python is that one.
"""

import json
import sys
from typing import Any, cast

from click.testing import CliRunner

from kminilog.cli.main import main
from kminilog.jobs.spark.runtime.session import spark_session
from tests.support.spark_classes import QUICK


def serve(master: str) -> None:
    config = {"spark.sql.shuffle.partitions": "4", "spark.executor.extraJavaOptions": QUICK}
    spark = spark_session(master, config=config)
    context = cast(Any, spark.sparkContext)
    own_python = context.pythonExec
    print("ready", flush=True)
    for line in sys.stdin:
        arguments = json.loads(line)
        context.pythonExec = own_python
        if arguments[0] == "--python":
            context.pythonExec, arguments = arguments[1], arguments[2:]
        result = CliRunner().invoke(main, arguments)
        print(json.dumps([result.exit_code, result.stdout, result.stderr]), flush=True)
    spark.stop()


if __name__ == "__main__":
    serve(sys.argv[1])
