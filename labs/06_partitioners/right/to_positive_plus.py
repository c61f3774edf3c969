# exercise: 2
# differs: adds the weight of the sign bit
def to_positive(number):
    return number + 2_147_483_648 if number < 0 else number
