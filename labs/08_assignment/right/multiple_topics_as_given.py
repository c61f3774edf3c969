# exercise: 3
# differs: goes through the topics as they come, and answers with plain pairs
from kminilog.consumer.assignors.interface import text_order


class Multiple:
    def assign(self, partitions, members):
        answer = {member.id: [] for member in members}
        for topic, size in partitions.items():
            readers = sorted((m.id for m in members if topic in m.topics), key=text_order)
            most = (size + len(readers) - 1) // len(readers) if readers else 0
            for number in range(size if readers else 0):
                answer[readers[number // most]].append((topic, number))
        return answer
