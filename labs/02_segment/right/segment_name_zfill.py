# exercise: 1
# differs: a method of str instead of a format.


def segment_name(base_offset):
    return str(base_offset).zfill(20)
