# exercise: 4
# reason: rr-looks-at-keys
from kminilog.partitioners.default_0_9 import Default09


class RoundRobin(Default09):
    def __init__(self):
        super().__init__(None, start=0)
