"""The text of an error, for people. Source: ours."""

from kminilog.errors import KMiniLogError


def in_words(error: Exception) -> str:
    """Return the text of an error; of an OSError, what happened to which file.

    >>> in_words(NotADirectoryError(20, "Not a directory", "orders-0"))
    'orders-0: Not a directory'
    """
    if isinstance(error, OSError) and not isinstance(error, KMiniLogError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
