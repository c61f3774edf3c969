"""The names of the assignors, and how to get one by its name or by a path to a class.

    range       S3           range           sticky               sticky
    multiple    S1 4         multiple        cooperative-sticky   cooperative
    roundrobin  S3 names it  round_robin     package.module.Class custom

A path has a dot or a colon, no name of ours has; anything else is an unknown name.
"""

from collections.abc import Callable

from kminilog.consumer.assignors.cooperative import CooperativeSticky
from kminilog.consumer.assignors.custom import SETTING, CustomAssignor
from kminilog.consumer.assignors.interface import Assignor
from kminilog.consumer.assignors.multiple import Multiple
from kminilog.consumer.assignors.range import Range
from kminilog.consumer.assignors.round_robin import RoundRobin
from kminilog.consumer.assignors.sticky import Sticky
from kminilog.errors import SettingError
from kminilog.plugins import load_class

ASSIGNORS: dict[str, Callable[[], Assignor]] = {
    "range": Range,
    "multiple": Multiple,
    "roundrobin": RoundRobin,
    "sticky": Sticky,
    "cooperative-sticky": CooperativeSticky,
}


def make_assignor(name_or_path: str) -> Assignor:
    """Return a new assignor.

    Raises SettingError for an unknown name, PluginError for a class that cannot be loaded or made.

    >>> make_assignor("cooperative-sticky").is_cooperative
    True
    """
    if name_or_path in ASSIGNORS:
        return ASSIGNORS[name_or_path]()
    if not {".", ":"} & set(name_or_path):
        known = ", ".join(ASSIGNORS)
        reason = f"no assignor {name_or_path!r}; there is: {known}, or package.module.Class"
        raise SettingError(SETTING, reason=reason)
    return CustomAssignor(load_class(name_or_path, setting=SETTING), name_or_path)
