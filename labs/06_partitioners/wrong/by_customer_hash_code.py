# exercise: 16
# reason: hash-code-after-0-8
from kminilog.partitioners.keyed_rules import hash_code_partition


class ByCustomer:
    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        every = cluster.partitions_for_topic(topic)
        if key_bytes is None:
            return (cluster.available_partitions_for_topic(topic) or every)[0].partition
        customer = key_bytes.split(b":")[0]
        return hash_code_partition(customer, len(every))
