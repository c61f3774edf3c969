# exercise: 3
# reason: ignores-subscription
from kminilog.consumer.assignors.interface import partitions_of, text_order


class Multiple:
    def assign(self, partitions, members):
        answer = {member.id: [] for member in members}
        for topic in sorted(partitions):
            every = partitions_of(topic, partitions[topic])
            readers = sorted(members, key=lambda each: text_order(each.id))
            size = -(-len(every) // len(readers)) if readers else 0
            for i, member in enumerate(readers):
                answer[member.id] += every[i * size : (i + 1) * size]
        return answer
