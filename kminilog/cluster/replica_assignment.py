"""Which brokers hold the replicas of which partition, when a topic is created.

The first replicas are placed on the brokers in turn. The other replicas of a partition follow its
first one at a distance that grows by one with each full round. So a broker that fails is not always
replaced by the same one. Source: Kafka: AdminUtils.assignReplicasToBrokers, without racks. Differs:
Kafka draws where to begin; here it is an argument (docs/differences.md).
"""

from collections.abc import Sequence


def place_replicas(
    partitions: int,
    replication_factor: int,
    brokers: Sequence[int],
    *,
    start: int = 0,
    shift: int = 0,
) -> list[tuple[int, ...]]:
    """Return the brokers of each partition; the first of them is to lead it.

    `start` is the slot of the broker that gets the first replica of partition 0; `shift` how many
    brokers its second replica leaves out. Raises ValueError for a replication factor below 1 or
    above the number of brokers.

    >>> place_replicas(4, 2, [0, 1, 2])
    [(0, 1), (1, 2), (2, 0), (0, 2)]
    """
    count = len(brokers)
    if not 1 <= replication_factor <= count:
        reason = f"replication factor {replication_factor} with {count} available brokers"
        raise ValueError(f"{reason}; it is 1 to the number of brokers that run")
    placed = []
    for partition in range(partitions):
        first = partition + start
        distances = [0]
        for follower in range(replication_factor - 1):
            distances.append(1 + (shift + partition // count + follower) % (count - 1))
        placed.append(tuple(brokers[(first + distance) % count] for distance in distances))
    return placed
