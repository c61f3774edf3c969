# exercise: 6
# reason: keeps-topic
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    for interceptor in self._interceptors:
        method = getattr(interceptor, "on_send", None)
        if method is None:
            continue
        try:
            answer = method(record)
        except Exception as error:
            self._note(interceptor, "on_send", str(error))
            continue
        if isinstance(answer, ProducerRecord) and answer.topic == record.topic:
            record = answer
        else:
            self._note(interceptor, "on_send", "no record")
    return record
