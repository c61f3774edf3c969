# exercise: 6
# reason: thrower-resets-record
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    original = record
    for interceptor in self._interceptors:
        if not hasattr(interceptor, "on_send"):
            continue
        try:
            record = interceptor.on_send(record)
            if not isinstance(record, ProducerRecord):
                raise TypeError("no record")
        except Exception as error:
            self._note(interceptor, "on_send", str(error))
            record = original
    return record
