# exercise: 3
# reason: code-points
class Multiple:
    def assign(self, partitions, members):
        answer = {member.id: [] for member in members}
        for topic, size in partitions.items():
            readers = sorted(member.id for member in members if topic in member.topics)
            most = -(-size // len(readers)) if readers else 0
            for number in range(size if readers else 0):
                answer[readers[number // most]].append((topic, number))
        return answer
