# exercise: 13
# differs: the code units come from struct, and one power of 31 for each; wraps once, at the end
import struct


class HashCodePartitioner:
    def __init__(self, properties):
        self.rule = properties["default-0.8.abs"]

    def partition(self, key, number_of_partitions):
        units = struct.unpack(f">{len(key.encode('utf-16-be')) // 2}H", key.encode("utf-16-be"))
        h = sum(unit * pow(31, power, 2**32) for power, unit in enumerate(reversed(units)))
        h &= 0xFFFFFFFF
        if self.rule == "mask":
            return h % 2**31 % number_of_partitions
        return min(h, 2**32 - h) % 2**31 % number_of_partitions
