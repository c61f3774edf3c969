# exercise: 16
# differs: it writes the formula itself, and looks for the first leader in a loop
from kminilog.format.hashing import murmur2


class ByCustomer:
    is_asked_again = False

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        partitions = cluster.partitions_for_topic(topic)
        if key_bytes is not None:
            colon = key_bytes.find(b":")
            customer = key_bytes if colon == -1 else key_bytes[:colon]
            return (murmur2(customer) & 0x7FFFFFFF) % len(partitions)
        for each in partitions:
            if each.leader is not None:
                return each.partition
        return partitions[0].partition
