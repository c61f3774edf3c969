# exercise: 6
# reason: exception-stops-chain
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    for interceptor in self._interceptors:
        if hasattr(interceptor, "on_send"):
            answer = interceptor.on_send(record)
            if isinstance(answer, ProducerRecord):
                record = answer
            else:
                self._note(interceptor, "on_send", "no record")
    return record
