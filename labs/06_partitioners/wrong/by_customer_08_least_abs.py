# exercise: 15
# reason: abs-of-the-least
from kminilog.format.java_hashing import java_string_hash


class ByCustomer08:
    def __init__(self, properties):
        self.rule = properties["default-0.8.abs"]

    def partition(self, key, number_of_partitions):
        code = java_string_hash(key.split(":")[0])
        positive = abs(code) if self.rule == "abs" else code & 0x7FFFFFFF
        return positive % number_of_partitions
