# exercise: 6
# differs: the chain's own _call catches errors and tells them
from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    for interceptor in self._interceptors:
        answer = self._call(interceptor, "on_send", record)
        record = answer if isinstance(answer, ProducerRecord) else record
    return record
