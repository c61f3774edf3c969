"""`--verbose`: what the package logs, as lines on stderr. Source: ours."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from kminilog.cli.output import warn


class _Lines(logging.Handler):
    """Writes each log record as one line, special characters escaped."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the line."""
        warn(record.getMessage())


@contextmanager
def log_shown(is_verbose: bool) -> Iterator[None]:
    """Show in this block all that is logged under `kminilog`, if `is_verbose`."""
    if not is_verbose:
        yield
        return
    logger, lines = logging.getLogger("kminilog"), _Lines()
    level = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(lines)
