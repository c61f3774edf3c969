# exercise: 3
# differs: the library's table of fields decodes it
from kminilog.wire.schemas import decode


def produced(answer):
    read, _ = decode("ProduceResponse", 0, answer, 4)
    return [
        (topic["name"], one["index"], one["error_code"], one["base_offset"])
        for topic in read["responses"]
        for one in topic["partition_responses"]
    ]
