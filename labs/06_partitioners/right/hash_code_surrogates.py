# exercise: 13
# differs: no UTF-16 codec: characters beyond 16 bits are cut into two by hand
import ctypes


def units(text):
    for character in text:
        number = ord(character)
        if number > 0xFFFF:
            yield 0xD800 + (number - 0x10000 >> 10)
            number = 0xDC00 + (number - 0x10000) % 1024
        yield number


class HashCodePartitioner:
    def __init__(self, properties):
        self.is_masked = properties["default-0.8.abs"] != "abs"

    def partition(self, key, number_of_partitions):
        h = 0
        for unit in units(key):
            h = ctypes.c_int32(h * 31 + unit).value
        if self.is_masked:
            h &= 0x7FFFFFFF
        elif h == -(2**31):
            h = 0
        return abs(h) % number_of_partitions
