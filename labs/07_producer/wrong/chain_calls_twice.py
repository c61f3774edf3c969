# exercise: 6
# reason: calls-twice
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    for interceptor in self._interceptors:
        method = getattr(interceptor, "on_send", None)
        if method is None:
            continue
        try:
            if isinstance(method(record), ProducerRecord):
                record = method(record)
            else:
                self._note(interceptor, "on_send", "no record")
        except Exception as error:
            self._note(interceptor, "on_send", str(error))
    return record
