"""How much memory the processes of a Spark session have held at most, and the time of processors
that they took, by the kernel's own account.

    this process --> jvm --> Python daemons --> worker, worker, ...

Linux only. A peak counts from the beginning of the work: what was before is reset.
"""

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

POLL_SECONDS = 0.1
_RESET_PEAK = "5"


@contextmanager
def peaks() -> Iterator[dict[str, int]]:
    """Hand out a dict that has, once the work is done, the peak bytes of the largest `worker` and
    of the `jvm`; neither if there was none. Workers are looked at every POLL_SECONDS."""
    found: dict[str, int] = {}
    for pid in _descendants():
        with suppress(OSError):
            Path(f"/proc/{pid}/clear_refs").write_text(_RESET_PEAK)
    done = threading.Event()

    def watch() -> None:
        while not done.wait(POLL_SECONDS):
            _look(found)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()
        _look(found)


def driver_peaks(process: "subprocess.Popen[bytes]") -> dict[str, int]:
    """Wait for a Spark driver, and return the peak bytes of its own process, `python`, and of the
    `jvm` below it; executors in processes of their own do not count."""
    found = {"python": 0, "jvm": 0}
    while process.poll() is None:
        with suppress(OSError, StopIteration):
            found["python"] = peak_bytes(process.pid)
            for pid in _children().get(process.pid, []):
                if _name(pid) == "java":
                    found["jvm"] = max(found["jvm"], peak_bytes(pid))
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
    return found


def tree_peak(process: "subprocess.Popen[bytes]") -> int:
    """Wait for a process, and return the most bytes that it and all below
    it have held together, as far as looks each POLL_SECONDS tell."""
    peak = 0
    while process.poll() is None:
        held = 0
        for pid in [process.pid, *_descendants(process.pid)]:
            with suppress(OSError, StopIteration):
                held += _bytes(pid, "VmRSS:")
        peak = max(peak, held)
        with suppress(subprocess.TimeoutExpired):
            process.wait(POLL_SECONDS)
    return peak


def tree_cpu_seconds() -> float:
    """Return the time of processors of this process and of all below it, ended ones too.

    A process that has ended counts once its parent has waited for it. In ticks, mostly of 10 ms.
    """
    ticks = 0
    for pid in [os.getpid(), *_descendants()]:
        with suppress(OSError):
            after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(map(int, after_name[11:15]))  # its own, and of those it waited for
    return ticks / os.sysconf("SC_CLK_TCK")


def _look(found: dict[str, int]) -> None:
    for pid in _descendants():
        with suppress(OSError, StopIteration):
            name = _name(pid)
            if not name.startswith(("java", "python")):
                continue  # about to become something else
            kind = "jvm" if name == "java" else "worker"
            found[kind] = max(found.get(kind, 0), peak_bytes(pid))


def _name(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def peak_bytes(pid: int) -> int:
    """Return the most bytes that a process has held."""
    return _bytes(pid, "VmHWM:")


def _bytes(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(name))
    return int(line.split()[1]) << 10


def _children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
                children.setdefault(int(after_name[1]), []).append(int(entry.name))
    return children


def _descendants(pid: int | None = None) -> list[int]:
    children = _children()
    found, todo = [], [os.getpid() if pid is None else pid]
    while todo:
        todo += (below := children.get(todo.pop(), []))
        found += below
    return found
