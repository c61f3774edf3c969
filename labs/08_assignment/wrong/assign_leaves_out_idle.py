# exercise: 2
# reason: idle-left-out
from kminilog.consumer.assignors.interface import in_order
from kminilog.format.names import TopicPartition


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic in sorted(partitions):
        readers = [member for member in in_order(members) if topic in member.topics]
        shares = runs(partitions[topic], len(readers) or 1)
        for member, (start, count) in zip(readers, shares, strict=False):
            numbers = range(start, start + count)
            answer[member.id] += [TopicPartition(topic, number) for number in numbers]
    return {id: given for id, given in answer.items() if given}
