# exercise: 2
# reason: sorted-as-texts
from kminilog.consumer.assignors.interface import members_by_topic, partitions_of


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic, readers in members_by_topic(partitions, members).items():
        every = partitions_of(topic, partitions[topic])
        for member, (start, count) in zip(readers, runs(len(every), len(readers)), strict=True):
            answer[member.id] += every[start : start + count]
    return {id: sorted(given, key=str) for id, given in answer.items()}
