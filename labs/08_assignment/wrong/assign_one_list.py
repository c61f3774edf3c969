# exercise: 2
# reason: shares-lists
from kminilog.consumer.assignors.interface import members_by_topic, partitions_of


def assign(self, partitions, members):
    answer = dict.fromkeys((member.id for member in members), [])  # noqa: RUF024
    for topic, readers in members_by_topic(partitions, members).items():
        every = partitions_of(topic, partitions[topic])
        for member, (start, count) in zip(readers, runs(len(every), len(readers)), strict=True):
            answer[member.id] += every[start : start + count]
    return answer
