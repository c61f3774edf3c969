# exercise: 9
# differs: a remainder, and fewer partitions than members.
EXPOSE_RUNS = [(10, 3), (1, 3)]
