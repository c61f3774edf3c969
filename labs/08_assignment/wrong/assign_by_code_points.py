# exercise: 2
# reason: code-points
from kminilog.consumer.assignors.interface import partitions_of


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    ordered = sorted(members, key=lambda m: (m.instance_id is None, m.instance_id or m.id))
    for topic in sorted(partitions):
        readers = [member for member in ordered if topic in member.topics]
        every = partitions_of(topic, partitions[topic])
        for reader, (start, count) in zip(
            readers, runs(len(every), len(readers) or 1), strict=False
        ):
            answer[reader.id] += every[start : start + count]
    return answer
