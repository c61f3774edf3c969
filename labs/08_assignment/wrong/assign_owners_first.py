# exercise: 2
# reason: looks-at-owned
from kminilog.consumer.assignors.interface import members_by_topic, partitions_of


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic, readers in members_by_topic(partitions, members).items():
        every = partitions_of(topic, partitions[topic])
        readers.sort(key=lambda member: not member.owned)
        for member, (start, count) in zip(readers, runs(len(every), len(readers)), strict=True):
            answer[member.id] += every[start : start + count]
    return answer
