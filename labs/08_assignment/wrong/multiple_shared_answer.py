# exercise: 3
# reason: shares-answers
from kminilog.consumer.assignors.interface import partitions_of, text_order


class Multiple:
    def __init__(self):
        self.answer = {}

    def assign(self, partitions, members):
        self.answer.clear()
        self.answer.update({member.id: [] for member in members})
        for topic in sorted(partitions):
            every = partitions_of(topic, partitions[topic])
            readers = sorted(
                (m for m in members if topic in m.topics), key=lambda m: text_order(m.id)
            )
            each = -(-len(every) // (len(readers) or 1))
            for place, member in enumerate(readers):
                self.answer[member.id] += every[place * each : (place + 1) * each]
        return self.answer
