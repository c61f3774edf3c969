"""Work that waits for the processes that judge: Ctrl-C and SIGTERM end them, and then the work.

The work is done in a thread, where no signal is raised. One that is raised in `Popen.wait` can
leave a lock of Python's taken, and the command never ends. Source: ours.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

from kminilog.cli.interrupts import check_interrupt, is_interrupted
from kminilog.course.judging.sandbox import end_all

Result = TypeVar("Result")
_LOOK_SECONDS = 0.02


def judged(work: Callable[[], Result]) -> Result:
    """Return what `work` returns, or raise what it raises.

    After a signal it ends the processes that judge, also those that `work` starts later, until
    `work` is over; then it raises KeyboardInterrupt.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        future = pool.submit(work)
        while not wait([future], _LOOK_SECONDS).done:
            if is_interrupted():
                end_all()
    check_interrupt()  # whatever the work made of processes that have ended
    return future.result()
