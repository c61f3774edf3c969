# exercise: 2
# differs: a remainder, which is never negative in Python
def to_positive(number):
    return number % 2**31
