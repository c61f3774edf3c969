# exercise: 3
# reason: multiple-one-more
from kminilog.consumer.assignors.interface import members_by_topic, partitions_of, text_order


class Multiple:
    def assign(self, partitions, members):
        answer = {member.id: [] for member in members}
        for topic, readers in members_by_topic(partitions, members).items():
            every = partitions_of(topic, partitions[topic])
            m = len(every) // len(readers) + 1
            readers.sort(key=lambda member: text_order(member.id))
            for place, member in enumerate(readers):
                answer[member.id] += every[place * m : (place + 1) * m]
        return answer
