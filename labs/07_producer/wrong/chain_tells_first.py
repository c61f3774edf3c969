# exercise: 6
# reason: tells-of-another
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    for interceptor in self._interceptors:
        method = getattr(interceptor, "on_send", None)
        if method is None:
            continue
        try:
            answer = method(record)
        except Exception as error:
            self._note(self._interceptors[0], "on_send", str(error))
            continue
        if isinstance(answer, ProducerRecord):
            record = answer
        else:
            self._note(self._interceptors[0], "on_send", "no record")
    return record
