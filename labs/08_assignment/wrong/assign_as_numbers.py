# exercise: 2
# reason: sorted-as-numbers
from kminilog.consumer.assignors.interface import in_order
from kminilog.format.names import TopicPartition


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic in sorted(partitions):
        readers = sorted(
            (each for each in in_order(members) if topic in each.topics),
            key=lambda each: (each.instance_id is None, len(each.id)),
        )
        shares = runs(partitions[topic], len(readers) or 1)
        for member, (start, count) in zip(readers, shares, strict=False):
            numbers = range(start, start + count)
            answer[member.id] += [TopicPartition(topic, number) for number in numbers]
    return answer
