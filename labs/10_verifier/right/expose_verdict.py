# exercise: 10
# differs: findings that are allowed in part, and what was left out with and without being asked.
from kminilog.verification.coverage import Aspect, Unchecked
from kminilog.verification.findings import FindingClass

_MISSING, _EXTRA = FindingClass.MISSING, FindingClass.EXTRA
_UNREAD = Unchecked(Aspect.MESSAGES, "orders-1", "permission denied", asked=True)
_UNASKED = Unchecked(Aspect.SOURCE, "", "none is named")

EXPOSE_VERDICT = [
    ([_MISSING, _EXTRA], [_MISSING], [_UNREAD]),
    ([_MISSING, _MISSING], [_MISSING], [_UNASKED]),
    ([], [], [_UNREAD]),
]
