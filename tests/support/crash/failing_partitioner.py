"""Partitioners: one fails once in all of a job's tasks, one kills its executor, one waits."""

import os
import signal
import subprocess
import time

_CALLS_BEFORE = 5000


class FailsOnce:
    """Places keys by their number; raises the first time that a task has asked often enough.

    The file that the environment names says that it has failed; without such a name it never does.
    """

    def __init__(self, config: object = None) -> None:
        self._marker = os.environ.get("KMINILOG_TEST_FAILS_ONCE")
        self._calls = 0

    def partition(self, key: object, partitions: int) -> int:
        self._calls += 1
        if self._marker and self._calls > _CALLS_BEFORE:
            try:
                os.close(os.open(self._marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                self._marker = None
            else:
                raise RuntimeError("fails once")
        return int(str(key).removeprefix("k")) % partitions


class KillsItsExecutor:
    """Kills -9 the JVM of the executor that the worker belongs to: its parent's parent."""

    def __init__(self, config: object = None) -> None:
        pass

    def partition(self, key: object, partitions: int) -> int:
        asked = ["ps", "-o", "ppid=,args=", "-p", str(os.getppid())]
        parent, *command = subprocess.run(asked, capture_output=True, text=True).stdout.split()
        if "pyspark.daemon" in command:
            os.kill(int(parent), signal.SIGKILL)
        return 0


class Waits:
    """Places all in partition 0; it waits for a file that the environment names, to go on."""

    def __init__(self, config: object = None) -> None:
        pass

    def partition(self, key: object, partitions: int) -> int:
        while not os.path.exists(os.environ["KMINILOG_TEST_WAITS_FOR"]):
            time.sleep(0.02)
        return 0
