"""The text of an error, for people. Source: ours."""

import errno

from kminilog.errors import KMiniLogError


def in_words(error: Exception) -> str:
    """Return the text of an error; of an OSError, what happened to which file.

    >>> in_words(NotADirectoryError(20, "Not a directory", "orders-0"))
    'orders-0: Not a directory'
    >>> in_words(OSError(28, "No space left on device", "from", None, "to"))
    'to: No space left on device'
    """
    if isinstance(error, OSError) and not isinstance(error, KMiniLogError) and error.strerror:
        # Of a copy, the operating system names both files; what is full is where the second one is.
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        name = (is_full and error.filename2) or error.filename
        return f"{name}: {error.strerror}" if name else error.strerror
    return str(error)
