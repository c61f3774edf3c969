# exercise: 6
# reason: each-gets-original
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    original = record
    for interceptor in self._interceptors:
        if not hasattr(interceptor, "on_send"):
            continue
        try:
            answer = interceptor.on_send(original)
        except Exception as error:
            self._note(interceptor, "on_send", str(error))
            continue
        if isinstance(answer, ProducerRecord):
            record = answer
        else:
            self._note(interceptor, "on_send", "no record")
    return record
