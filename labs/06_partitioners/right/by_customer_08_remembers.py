# exercise: 15
# differs: it remembers the number of each customer, and takes the text letter by letter
from itertools import takewhile

from kminilog.format.java_hashing import java_abs, java_string_hash


class ByCustomer08:
    def __init__(self, properties):
        self.is_abs = properties["default-0.8.abs"] == "abs"
        self.numbers = {}

    def partition(self, key, number_of_partitions):
        customer = "".join(takewhile(lambda letter: letter != ":", key))
        if customer not in self.numbers:
            code = java_string_hash(customer)
            self.numbers[customer] = java_abs(code) if self.is_abs else code & 0x7FFFFFFF
        return self.numbers[customer] % number_of_partitions
