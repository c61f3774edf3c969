# exercise: 2
# reason: idle-left-out
from kminilog.consumer.assignors.interface import members_by_topic, partitions_of


def assign(self, partitions, members):
    if not partitions:
        return {}
    answer = {member.id: [] for member in members}
    for topic, readers in members_by_topic(partitions, members).items():
        every = partitions_of(topic, partitions[topic])
        for member, (start, count) in zip(readers, runs(len(every), len(readers)), strict=True):
            answer[member.id] += every[start : start + count]
    return answer
