"""What an error says, for tests that hold a table of errors against what is said."""

from collections.abc import Callable

NO_ERROR = "(no error)"


def error_text(
    kind: type[Exception], call: Callable[..., object], *arguments: object, **options: object
) -> str:
    """Return the text of the error of this kind that a call raises, or NO_ERROR."""
    try:
        call(*arguments, **options)
    except kind as error:
        return str(error)
    return NO_ERROR
