# exercise: 16
# reason: keyless-ignores-availability
from kminilog.partitioners.keyed import murmur2_partition


class ByCustomer:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        every = cluster.partitions_for_topic(topic)
        if key_bytes is None:
            return every[0].partition
        customer = key_bytes.split(b":")[0]
        return murmur2_partition(customer, len(every))
