# exercise: 2
# reason: join-order-not-sorted
from kminilog.format.names import TopicPartition


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic in sorted(partitions):
        readers = [member for member in members if topic in member.topics]
        shares = runs(partitions[topic], len(readers) or 1)
        for member, (start, count) in zip(readers, shares, strict=False):
            numbers = range(start, start + count)
            answer[member.id] += [TopicPartition(topic, number) for number in numbers]
    return answer
