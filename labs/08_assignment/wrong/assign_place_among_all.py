# exercise: 2
# reason: counts-all-members
from kminilog.consumer.assignors.interface import in_order, partitions_of


def assign(self, partitions, members):
    answer = {member.id: [] for member in members}
    for topic in sorted(partitions) if members else ():
        every = partitions_of(topic, partitions[topic])
        for member, (start, count) in zip(
            in_order(members), runs(len(every), len(members)), strict=True
        ):
            if topic in member.topics:
                answer[member.id] += every[start : start + count]
    return answer
