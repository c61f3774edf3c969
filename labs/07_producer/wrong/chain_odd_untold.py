# exercise: 6
# reason: thrower-untold
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    for interceptor in self._interceptors:
        try:
            answer = interceptor.on_send(record)
            if isinstance(answer, ProducerRecord):
                record = answer
        except Exception as error:
            self._note(interceptor, "on_send", str(error))
    return record
