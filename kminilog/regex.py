"""Compile a regular expression of the user's, or say in one line why Python cannot.

Python refuses one in more ways than by `re.error`: a number in it may be too large, or its groups
may be nested too deeply. Source: Python's `re`.
"""

import re
import warnings
from typing import AnyStr

_SHOWN_CHARACTERS = 40


def compile_regex(regex: AnyStr, name: str) -> re.Pattern[AnyStr]:
    """Return a compiled regular expression; `name` is that of the option or argument it came from.

    It suppresses warnings: they are about what a later Python may change. Raises ValueError.

    >>> compile_regex("a{99999999999}", "--pattern")
    Traceback (most recent call last):
    ...
    ValueError: --pattern 'a{99999999999}': the repetition number is too large
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(regex)
    except RecursionError:
        reason = "its groups are nested too deeply"
    except MemoryError:
        reason = "it needs too much memory"
    except (re.error, ArithmeticError, ValueError) as error:
        reason = str(error)
    text = regex if isinstance(regex, str) else regex.decode("utf-8", "surrogateescape")
    cut = "" if len(text) <= _SHOWN_CHARACTERS else "..."
    raise ValueError(f"{name} {text[:_SHOWN_CHARACTERS]!r}{cut}: {reason}")
