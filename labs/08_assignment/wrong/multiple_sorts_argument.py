# exercise: 3
# reason: changes-arguments
from kminilog.consumer.assignors.interface import partitions_of


class Multiple:
    def assign(self, partitions, members):
        members.sort(key=lambda m: m.id)
        answer = {member.id: [] for member in members}
        for topic in sorted(partitions):
            every = partitions_of(topic, partitions[topic])
            readers = [m for m in members if topic in m.topics]
            each = -(-len(every) // (len(readers) or 1))
            for place, member in enumerate(readers):
                answer[member.id] += every[place * each : (place + 1) * each]
        return answer
