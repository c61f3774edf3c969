# exercise: 3
# reason: multiple-rest-to-last
from kminilog.consumer.assignors.interface import partitions_of, text_order


class Multiple:
    def assign(self, partitions, members):
        answer = {member.id: [] for member in members}
        for topic in sorted(partitions):
            every = partitions_of(topic, partitions[topic])
            readers = [
                member
                for member in sorted(members, key=lambda each: text_order(each.id))
                if topic in member.topics
            ]
            size = len(every) // len(readers) if readers else 0
            for i, member in enumerate(readers):
                answer[member.id] += every[
                    i * size : (i + 1) * size if i < len(readers) - 1 else None
                ]
        return answer
