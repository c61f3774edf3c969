# exercise: 2
# reason: counts-all-members
from kminilog.consumer.assignors.interface import members_by_topic, partitions_of


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic, readers in members_by_topic(partitions, members).items():
        every = partitions_of(topic, partitions[topic])
        for member, (start, count) in zip(readers, runs(len(every), len(members)), strict=False):
            answer[member.id] += every[start : start + count]
    return answer
