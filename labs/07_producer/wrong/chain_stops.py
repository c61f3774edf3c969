# exercise: 6
# reason: exception-stops-chain
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    try:
        for interceptor in self._interceptors:
            if hasattr(interceptor, "on_send"):
                answer = interceptor.on_send(record)
                if not isinstance(answer, ProducerRecord):
                    raise TypeError("no record")
                record = answer
    except Exception as error:
        self._note(interceptor, "on_send", str(error))
    return record
