# exercise: 3
# reason: static-counts
from kminilog.consumer.assignors.interface import in_order, partitions_of


class Multiple:
    def assign(self, partitions, members):
        answer = {member.id: [] for member in members}
        for topic in sorted(partitions):
            every = partitions_of(topic, partitions[topic])
            readers = [member for member in in_order(members) if topic in member.topics]
            size = -(-len(every) // len(readers)) if readers else 0
            for i, member in enumerate(readers):
                answer[member.id] += every[i * size : (i + 1) * size]
        return answer
