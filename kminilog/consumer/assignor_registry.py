"""The names of the assignors, and how to get one by its name or by a path to a class.

    range       S3           range           sticky               sticky
    multiple    S1 4         multiple        cooperative-sticky   cooperative
    roundrobin  S3 names it  round_robin     package.module.Class custom

A path has a dot or a colon, no name of ours has; anything else is an unknown name. Kafka's names of
its classes, such as org.apache.kafka.clients.consumer.RangeAssignor, stand for ours.
"""

from collections.abc import Callable

from kminilog.config import short_name
from kminilog.consumer.assignors.cooperative import CooperativeSticky
from kminilog.consumer.assignors.custom import SETTING, CustomAssignor
from kminilog.consumer.assignors.interface import Assignor
from kminilog.consumer.assignors.multiple import Multiple
from kminilog.consumer.assignors.range import Range
from kminilog.consumer.assignors.round_robin import RoundRobin
from kminilog.consumer.assignors.sticky import Sticky
from kminilog.consumer.settings import CONSUMER_SETTINGS
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
    name = assignor_name(name_or_path)
    if name in ASSIGNORS:
        return ASSIGNORS[name]()
    if not {".", ":"} & set(name):
        known = ", ".join(ASSIGNORS)
        reason = f"no assignor {name!r}; there is: {known}, or package.module.Class"
        raise SettingError(SETTING, reason=reason)
    return CustomAssignor(load_class(name, setting=SETTING), name)


def assignor_name(name_or_path: str) -> str:
    """Return our name of an assignor of Kafka's; any other name or path as it is.

    >>> assignor_name("org.apache.kafka.clients.consumer.RoundRobinAssignor")
    'roundrobin'
    """
    return short_name(CONSUMER_SETTINGS[SETTING], name_or_path)
