"""A process that belongs to the group `readers`, or commits without belonging to it.

    python -m tests.support.consumer.member_process follow LOG_DIR CLIENT SESSION_MS
    python -m tests.support.consumer.member_process count LOG_DIR CLIENT
    python -m tests.support.consumer.member_process note LOG_DIR FIRST COUNT

`follow` keeps its membership until it is killed, and prints each new share: generation, partitions.
`count` commits 1, 2, 3 ... for orders-0 until it is killed, and prints each when it is committed.
`note` commits offset 1 for `COUNT` partitions from `FIRST` on, one at a time.
"""

import json
import os
import random
import sys
from itertools import count

from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.errors import UnknownMemberError
from kminilog.consumer.members import JoinRequest
from kminilog.format.names import TopicPartition
from kminilog.system import SystemClock

PARTITIONS = {"orders": 12}
GROUP = "readers"
PAUSE_MS = 20


def follow(coordinator: Coordinator, clock: SystemClock, client: str, session_ms: str) -> None:
    request = JoinRequest(("orders",), session_timeout_ms=int(session_ms), client_id=client)
    while True:
        try:
            keep(coordinator, clock, request)
        except UnknownMemberError:
            continue  # it was too slow, as a busy machine can make it: a new member then


def keep(coordinator: Coordinator, clock: SystemClock, request: JoinRequest) -> None:
    membership = coordinator.join(GROUP, request)
    while True:
        while not (share := coordinator.sync(GROUP, membership)):
            clock.sleep_ms(PAUSE_MS)
        membership = share.membership
        numbers = [partition.partition for partition in share.partitions]
        say(json.dumps([membership.generation, numbers]))
        while coordinator.heartbeat(GROUP, membership) == "ok":
            clock.sleep_ms(PAUSE_MS)
        again = request._replace(member_id=membership.member_id)
        membership = coordinator.join(GROUP, again)


def count_up(coordinator: Coordinator, client: str) -> None:
    membership = coordinator.join(GROUP, JoinRequest(("orders",), client_id=client))
    share = coordinator.sync(GROUP, membership)
    assert share
    for offset in count(1):
        coordinator.commit(GROUP, {TopicPartition("orders", 0): offset}, share.membership)
        say(str(offset))


def note(coordinator: Coordinator, first: str, length: str) -> None:
    for number in range(int(first), int(first) + int(length)):
        coordinator.commit(GROUP, {TopicPartition("orders", number): 1})


def say(text: str) -> None:
    os.write(1, text.encode() + b"\n")


def main(mode: str, log_dir: str, *arguments: str) -> None:
    clock = SystemClock()
    coordinator = Coordinator(
        log_dir, lambda: PARTITIONS, lambda topic: None, clock=clock, chance=random.Random()
    )
    if mode == "follow":
        follow(coordinator, clock, *arguments)
    elif mode == "count":
        count_up(coordinator, *arguments)
    else:
        note(coordinator, *arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
