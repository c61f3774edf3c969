# exercise: 6
# reason: missing-told
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    for interceptor in self._interceptors:
        try:
            answer = interceptor.on_send(record)
        except Exception as error:
            self._note(interceptor, "on_send", str(error))
            continue
        if isinstance(answer, ProducerRecord):
            record = answer
        else:
            self._note(interceptor, "on_send", "no record")
    return record
