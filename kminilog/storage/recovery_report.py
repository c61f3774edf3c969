"""Put into words what recovery would do to a partition, or has done. Source: ours."""

from kminilog.storage.recovery import RecoveryPlan


def describe(plan: RecoveryPlan) -> list[str]:
    """Return one line for each thing that is wrong; an empty list for a valid partition."""
    lines = [*plan.warnings]
    for found, verdict in ((plan.cut, "torn tail"), (plan.damage, "damage")):
        if found:
            lines.append(
                f"{found.segment.log_path}, offset {plan.log_end_offset}, byte {found.position}: "
                f"{verdict}: {found.reason}; {found.lost_bytes} bytes with {found.lost_messages} "
                f"whole messages after it; valid up to offset {plan.log_end_offset}"
            )
    lines += [f"{s.index.path}: not what the log says; rebuilt" for s, _ in plan.rebuilt_indexes]
    lines += [f"{path}: left behind; removed" for path in plan.leftovers]
    lines += [f"{path}: not a file of a partition; left alone" for path in plan.strays]
    return lines
