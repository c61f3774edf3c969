"""The entry point of the command `kminilog`: Ctrl-C during the imports ends it silently.

Python's own handler would print a traceback then. So whoever imports this module gives that handler
up at once; from `main` on, cli.interrupts hears signals. It imports nothing of ours before. Source:
ours.
"""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    from kminilog.cli.main import main as command_line

    command_line()


if __name__ == "__main__":
    main()
