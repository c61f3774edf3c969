"""Plugins: load a user's class by its dotted path, and report its failures under its name.

The path is `package.module.Class` or `package.module:Class`. Python must be able to import the
module; commands also look in the current directory, last. So a user's file does not replace an
installed module of the same name. Source: S0 3, S1 (partitioner.class names a
class of the user's).
"""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from kminilog.errors import KMiniLogError, PluginError


def load_class(path: str, *, setting: str) -> type[Any]:
    """Return the class at a dotted path; errors name the `setting` that asked for it.

    Imports the module, which runs its code. Raises PluginError if the module or the class does not
    exist, if the module raises, or if the name is bound to something other than a class.

    >>> load_class("collections:OrderedDict", setting="partitioner.class").__name__
    'OrderedDict'
    """
    module_name, _, class_name = path.rpartition(":" if ":" in path else ".")
    if not module_name or not class_name:
        reason = "write package.module.Class or package.module:Class"
        raise PluginError(setting, path=path, reason=reason)
    try:
        module = import_module(module_name)
    except Exception as error:  # the module is the user's: anything can happen in it
        reason = f"cannot import {module_name}: {type(error).__name__}: {error}"
        raise PluginError(setting, path=path, reason=reason) from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        what = "no" if found is None else "something else than a class named"
        raise PluginError(setting, path=path, reason=f"{module_name} has {what} {class_name}")
    return found


def look_in_current_directory() -> None:
    """Have this process find modules in the current directory, too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def guarded(
    setting: str, path: str, call: Callable[..., Any], *arguments: Any, **named: Any
) -> Any:
    """Return what a call of a user's code returns.

    Raises PluginError that names the class if that code raises. A KMiniLogError passes unchanged.

    >>> guarded("partitioner.class", "my.Mine", lambda key: 1 // key, 0)
    Traceback (most recent call last):
    ...
    kminilog.errors.PluginError: partitioner.class my.Mine: <lambda> raised \
ZeroDivisionError: integer division or modulo by zero; nothing was done
    """
    try:
        return call(*arguments, **named)
    except KMiniLogError:
        raise
    except Exception as error:
        what = getattr(call, "__name__", "it")
        reason = f"{what} raised {type(error).__name__}: {error}"
        raise PluginError(setting, path=path, reason=reason) from error
