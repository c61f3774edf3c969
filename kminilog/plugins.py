"""A user's own class, found by its dotted path, and called so that its mistakes name it.

`package.module.Class` or `package.module:Class`; the module must be importable from where Python
looks, or from the current directory of a command. Source: S0 3, S1 (partitioner.class names a class
of the user's).
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from kminilog.client_errors import PluginError
from kminilog.errors import KMiniLogError


def load_class(path: str, *, setting: str) -> type[Any]:
    """Return the class at a dotted path; `setting` says in errors who asked for it.

    Imports the module, so runs its code. Raises PluginError if there is no such module or class, if
    the module raises, or if what stands there is no class.

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


def guarded(
    setting: str, path: str, call: Callable[..., Any], *arguments: Any, **named: Any
) -> Any:
    """Return what a user's code answers to a call, or raise a PluginError that names its class.

    An error of ours goes through as it is: it says enough.

    >>> guarded("partitioner.class", "my.Mine", lambda key: 1 // key, 0)
    Traceback (most recent call last):
    ...
    kminilog.client_errors.PluginError: partitioner.class my.Mine: <lambda> raised \
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
