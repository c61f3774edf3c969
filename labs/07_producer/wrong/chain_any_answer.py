# exercise: 6
# reason: takes-any-answer
def on_send(self, record):
    for interceptor in self._interceptors:
        if not hasattr(interceptor, "on_send"):
            continue
        try:
            record = interceptor.on_send(record)
        except Exception as error:
            self._note(interceptor, "on_send", str(error))
    return record
