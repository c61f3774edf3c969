"""The questions of `step rebalance`, and the thoughts that lead to the usual wrong answers.

    everything-stops    noticed-at-once    exactly-once    late-commit-is-accepted

Each is computed from what the replay has shown, so it fits any plan. Source: Kafka: rebalance
protocols, at-least-once delivery; the misconceptions are ours.
"""

from kminilog.consumer.assignors.registry import make_assignor
from kminilog.course.replays.rebalance import HANGS, SECOND_MS, Plan, Second
from kminilog.course.steps.document import Ask
from kminilog.course.steps.recording import ask, question_with_enough_choices


def what_is_given_up(member: str, strategy: str) -> Ask:
    """Ask what a member gives up when it hears of a rebalance."""
    everything = "all of its partitions"
    moving = "only the partitions that another member gets"
    nothing = "none: it goes on reading until the new generation has begun"
    is_cooperative = make_assignor(strategy).is_cooperative
    wrong = {
        everything: "That is an eager rebalance: everybody stops for a moment. This strategy is "
        "cooperative.",
        moving: "That is a cooperative rebalance. This strategy is eager: nobody knows yet which "
        "partitions will move.",
        nothing: "Then two members could read one partition at the same time.",
    }
    why = {
        everything: "This strategy is eager: a member commits, gives up everything, and only then "
        "joins again. It may get the same partitions back.",
        moving: "This strategy is cooperative: a member joins again with what it has. Then it "
        "gives up what another one is to get, and a second round hands that over.",
    }
    right = moving if is_cooperative else everything
    question = f"{member} hears of the rebalance. What does it give up, by {strategy}?"
    return ask(question, right, why[right], wrong)


def when_removed(member: str, second: int, plan: Plan) -> Ask | None:
    """Ask in which second a member that hangs is removed."""
    hangs = [
        event.second
        for event in plan.events
        if (event.member, event.what) == (member, HANGS) and event.second <= second
    ]
    if not hangs:  # it only was too slow for its time-out
        return None
    hung = hangs[-1]
    session, interval = (
        ms // SECOND_MS for ms in (plan.session_timeout_ms, plan.heartbeat_interval_ms)
    )
    return question_with_enough_choices(
        ask(
            f"{member} hangs from second {hung} on. In which second does the group remove it? The "
            f"session time-out is {session} s, the heartbeat interval {interval} s.",
            str(second),
            f"The session ends {session} s after the last heartbeat that arrived, which was before "
            f"second {hung}.",
            {
                str(hung): "A group sees no processes, only calls. A member that makes none may "
                "just be slow.",
                str(hung + interval): "One heartbeat that does not come is no reason: the session "
                "time-out counts.",
                str(hung + session): "The time does not begin when it hangs, which nobody sees. It "
                "begins with the last heartbeat.",
            },
        )
    )


def how_many_again(before: Second, now: Second) -> Ask | None:
    """Ask how many messages are read a second time when partitions are taken over."""
    begun = [
        number
        for number, reader in now.reader_by_partition.items()
        if reader is not None and before.reader_by_partition[number] != reader
    ]
    taker = now.reader_by_partition[begun[0]]
    read = sum(now.read_to_by_partition[n] - before.committed_by_partition[n] for n in begun)
    return question_with_enough_choices(
        ask(
            f"{taker} takes over partitions whose reader has stopped without a commit. How many "
            "messages are read a second time?",
            str(now.read_again),
            "Reading goes on at the committed offset. What lies between it and what was read "
            "comes again.",
            {
                "0": "That would be exactly once. A group only knows committed offsets, not what "
                "was read since.",
                str(read - now.read_again): "These are read for the first time: they came while "
                "nobody read.",
                str(read): "These are all that is read now, from the committed offset on. Most of "
                "them may be new.",
            },
        )
    )


def what_is_answered(member: str, error: str) -> Ask:
    """Ask what a group answers to a commit of a member that was away."""
    accepted = "it accepts the commit"
    refused = "it refuses the commit"
    greater = "for each partition it keeps the greater offset"
    wrong = {
        accepted: "Another member reads these partitions now. The commit would undo its progress.",
        refused: "Its session is not over: it still is a member, and nobody else has its "
        "partitions.",
        greater: "A group never compares offsets: going back is allowed. It asks who commits.",
    }
    right = refused if error else accepted
    why = "It is no member any more: the group has removed it, and must not let it undo the "
    why += "progress of others. This is called fencing."
    if not error:
        why = "Its session is not over, so it is a member of the current generation."
    return ask(f"{member} wakes up and commits. What does the group do?", right, why, wrong)
