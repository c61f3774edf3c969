# exercise: 6
# differs: functools.reduce folds the record over the links
from functools import reduce

from kminilog.producer.record import ProducerRecord


def on_send(self, record):
    def through(current, interceptor):
        try:
            answer = interceptor.on_send(current)
            if not isinstance(answer, ProducerRecord):
                raise TypeError(f"{type(answer).__name__} is no record")
            return answer
        except Exception as error:
            self._note(interceptor, "on_send", f"{type(error).__name__}: {error}")
            return current

    links = [each for each in self._interceptors if hasattr(each, "on_send")]
    return reduce(through, links, record)
