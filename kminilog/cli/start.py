"""The entry point of the command `kminilog`: Ctrl-C during the imports ends it silently.

Python's own handler would print a traceback then. So whoever imports this module gives that
handler up at once, and lets through what scripts/kminilog has held back since the process began;
from `main` on, cli.interrupts hears signals. Without that script, as in `python -m kminilog`, a
Ctrl-C before this module runs still prints a traceback. Nothing is loaded before: `_signal` is
part of Python itself, while `signal` loads `enum` first, which takes 3 ms. Source: ours.
"""

import _signal  # type: ignore[import-not-found]

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
_signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from kminilog.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
