# exercise: 2
# reason: global-not-per-topic
from kminilog.consumer.assignors.interface import in_order, partitions_of


def assign(self, partitions, members):
    every = [
        pair for topic in sorted(partitions) for pair in partitions_of(topic, partitions[topic])
    ]
    ordered = in_order(members)
    shares = runs(len(every), len(ordered) or 1)
    return {
        member.id: every[start : start + count]
        for member, (start, count) in zip(ordered, shares, strict=False)
    }
