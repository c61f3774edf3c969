# exercise: 16
# reason: null-is-hashed
from kminilog.partitioners.keyed import murmur2_partition


class ByCustomer:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        every = cluster.partitions_for_topic(topic)
        if key_bytes == 0:
            return (cluster.available_partitions_for_topic(topic) or every)[0].partition
        customer = (key_bytes or b"").split(b":")[0]
        return murmur2_partition(customer, len(every))
