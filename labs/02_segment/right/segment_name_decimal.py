# exercise: 1
# differs: a Decimal, padded as text.
from decimal import Decimal


def segment_name(base_offset):
    return "{:0>20}".format(Decimal(base_offset))
