# exercise: 6
# reason: swallows-interrupt
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    for interceptor in self._interceptors:
        if not hasattr(interceptor, "on_send"):
            continue
        try:
            answer = interceptor.on_send(record)
        except BaseException as error:
            self._note(interceptor, "on_send", str(error))
            continue
        if isinstance(answer, ProducerRecord):
            record = answer
        else:
            self._note(interceptor, "on_send", "no record")
    return record
