# exercise: 1
# differs: a table of functions by the type of the outcome
from kminilog.format import message


def fault(outcome, next_offset):
    sentences = {
        message.NeedMoreBytes: lambda: "unfinished",
        message.CorruptMessage: lambda: outcome.fault,
        message.Message: lambda: (
            None if message.is_next_message(outcome, next_offset) else "another offset"
        ),
    }
    return sentences[type(outcome)]()
