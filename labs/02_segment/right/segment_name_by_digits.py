# exercise: 1
# differs: divides digit by digit.


def segment_name(base_offset):
    digits = []
    while len(digits) < 20:
        base_offset, digit = divmod(base_offset, 10)
        digits.insert(0, str(digit))
    return "".join(digits)
