"""The parts of a producer that its settings name: serialisers and interceptors, a user's own too.

A user's class is made without arguments, and configured if it has `configure`. `key.serializer` and
`value.serializer` name the serialisers. If one of them is not given, `serializer.class` counts in
its place, as in 0.8. Source: S0 7, S1 3, S2 2; Kafka: KafkaProducer, 0.8: ProducerConfig.
"""

from collections.abc import Mapping
from typing import Any

from kminilog.config import short_name
from kminilog.errors import PluginError
from kminilog.plugins import guarded, load_class
from kminilog.producer.interceptors import ProducerInterceptor, ProducerInterceptors
from kminilog.producer.serializers import Serializer, built_in_serializer
from kminilog.producer_settings import PRODUCER_SETTINGS

_INTERCEPTORS = "interceptor.classes"


def serializer(name: str, setting: str, config: Mapping[str, Any] | None = None) -> Serializer:
    """Return the serialiser of a name or dotted path; `setting` is the setting that names it.

    A user's class is made, and configured with `config`. Raises PluginError if that fails, or if
    the class has no method `serialize`.

    >>> serializer("integer", "key.serializer")("orders", -2)
    b'\\xff\\xff\\xff\\xfe'
    """
    name = short_name(PRODUCER_SETTINGS[setting], name)
    found = built_in_serializer(name, setting)
    if found:
        return found
    made = _serializing(name, setting, config or {})
    return Serializer(name, setting, made.serialize, getattr(made, "close", None))


def serializers(config: Mapping[str, Any]) -> tuple[Serializer, Serializer]:
    """Return the serialisers of keys and of values that complete settings of a producer name.

    >>> from kminilog.producer_settings import PRODUCER_SETTINGS
    >>> from kminilog.config import complete_config
    >>> given = {"serializer.class": "string", "key.serializer": "integer"}
    >>> [each.name for each in serializers(complete_config(given, PRODUCER_SETTINGS))]
    ['integer', 'string']
    """
    of_keys, of_values = (
        serializer(config[setting] or config["serializer.class"], setting, config)
        for setting in ("key.serializer", "value.serializer")
    )
    return of_keys, of_values


def load_interceptors(paths: str, config: Mapping[str, Any]) -> list[ProducerInterceptor]:
    """Return the interceptors of classes named by dotted paths, separated by commas, configured.

    Raises PluginError for one that cannot be imported, made or configured; those made before it
    are closed again.

    >>> load_interceptors("", {})
    []
    >>> path = "kminilog.producer.interceptors:ProducerInterceptor"
    >>> [type(each).__name__ for each in load_interceptors(f"{path}, {path}", {})]
    ['ProducerInterceptor', 'ProducerInterceptor']
    """
    interceptors: list[ProducerInterceptor] = []
    try:
        for path in filter(None, map(str.strip, paths.split(","))):
            interceptors.append(_interceptor(path, config))
    except BaseException:
        ProducerInterceptors(interceptors).close()
        raise
    return interceptors


def _interceptor(path: str, config: Mapping[str, Any]) -> ProducerInterceptor:
    interceptor_class = load_class(path, setting=_INTERCEPTORS)
    interceptor: ProducerInterceptor = guarded(_INTERCEPTORS, path, interceptor_class)
    if hasattr(interceptor, "configure"):
        guarded(_INTERCEPTORS, path, interceptor.configure, config)
    return interceptor


def _serializing(path: str, setting: str, config: Mapping[str, Any]) -> Any:
    made = guarded(setting, path, load_class(path, setting=setting))
    if hasattr(made, "configure"):
        guarded(setting, path, made.configure, config)
    if not callable(getattr(made, "serialize", None)):
        raise PluginError(setting, path=path, reason="it has no method serialize(topic, data)")
    return made
