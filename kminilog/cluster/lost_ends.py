"""A copy that has lost its end does not lead while another in-sync copy has more.

    broker 0   m0            it had m1 and m2 on record, and finds its file without them
    broker 1   m0 m1 m2      in sync: it leads, and broker 0 copies m1 and m2 from it

If broker 0 led with what is left, broker 1 would have to agree with it and truncate: the last copy
of committed messages would go. So broker 0 leaves the in-sync replicas when it starts, as a broker
does that is down, and joins them again when it has copied. If no copy has more, nothing better is
there than what is left.

A broker notices only a loss that it has on record: a log that ends below its recovery point, or
below the high watermark, which are written from time to time. Source: ours; Kafka: KIP-966.
Differs: docs/differences.md.
"""

from collections.abc import Collection, Mapping

from kminilog.cluster.broker import Broker
from kminilog.cluster.leadership import Leadership
from kminilog.format.names import TopicPartition


def outdone(
    brokers: Mapping[int, Broker],
    partition: TopicPartition,
    leadership: Leadership,
    running: Collection[int],
) -> set[int]:
    """Return the in-sync brokers which have lost what another one that runs still has.

    Each loss is told once, in the warnings of its broker; then it counts no more.
    """
    copies = {n: brokers[n].replica(partition) for n in leadership.replicas if n in running}
    in_sync = [node for node in copies if node in leadership.in_sync]
    longest = max((copies[node].log.log_end_offset for node in in_sync), default=0)
    found = set()
    for node, copy in copies.items():
        lost, copy.lost = copy.lost, range(0)
        if not lost or node not in in_sync:  # a copy that is not in sync copies in any case
            continue
        told = f"it has lost offsets {lost[0]}..{lost[-1]} of {partition}, "
        if copy.log.log_end_offset < longest:
            found.add(node)
            told += "so it copies them from another broker that is in sync"
        else:
            told += "and no other live broker that is in sync has them: they are gone"
        brokers[node].warn(told)
    return found
