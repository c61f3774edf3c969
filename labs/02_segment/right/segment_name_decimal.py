# exercise: 1
# differs: a Decimal, padded as text.
from decimal import Decimal


def segment_name(base_offset):
    return f"{Decimal(base_offset):0>20}"
