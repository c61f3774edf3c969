# exercise: 3
# differs: a while loop with next(), and match for the three outcomes
from kminilog.format.message import CorruptMessage, Message, NeedMoreBytes


def end_offset(self):
    entry = self.last_true_entry()
    end = self.base_offset + entry.relative_offset if entry else self.first_offset
    pairs = self.scan(entry.position) if entry else self.scan()
    while True:
        match next(pairs, None):
            case None | (_, NeedMoreBytes() | CorruptMessage()):
                return end
            case (position, Message() as message):
                if not self.is_in_order(position, message, end, None):
                    return end
                end = message.offset + 1
