"""What each field of a message means, and what is usually thought of it.

Source: S1 5.2; Kafka 0.8.2: Message, MessageAndOffset.
"""

from kminilog.course.steps.document import Ask, Field
from kminilog.course.steps.recording import ask
from kminilog.format.message import CODECS, CRC_END, HEADER_BYTES, SIZE_END
from kminilog.text import shown


def meaning(field: Field, start: int) -> str:
    """Return what a field says, in one or two sentences; its message begins at byte `start`.

    >>> meaning(Field("f", 16, 17, "magic", "magic", 0), 0)
    'Byte 16: the magic byte, 0: the version of the format. Here it must be 0.'
    """
    where = f"Bytes {field.start} to {field.end - 1}"
    if field.end - field.start == 1:
        where = f"Byte {field.start}"
    return f"{where}: {_what(field, start)}."


def _what(field: Field, start: int) -> str:
    value = field.value
    number = value if isinstance(value, int) else 0
    match field.name:
        case "offset":
            return f"the offset, {value}: the number of the message. No checksum covers it"
        case "size":
            after = f"By it the next message begins at byte {start + SIZE_END + number}"
            return f"the size, {value}: so many bytes follow. {after}"
        case "crc":
            covered = f"everything after it, from byte {start + CRC_END} on"
            return f"the crc, {value}: the CRC-32 of {covered}"
        case "magic":
            return f"the magic byte, {value}: the version of the format. Here it must be 0"
        case "attributes":
            codec = CODECS.get(number & 7, "unknown")
            return f"the attributes, {value}. Their lowest three bits name the codec: {codec}"
        case "key length" | "value length" if value == -1:
            noun = field.name.split()[0]
            return f"the {field.name}, -1: there is no {noun}. That is not the same as an empty one"
        case "key length" | "value length":
            return f"the {field.name}, {value}"
        case "key" | "value":
            return f"the {field.name}: {shown(str(value).encode('utf-8', 'surrogatepass'), 60)}"
        case _:
            return "no field: by the lengths in front of them, nothing belongs here"


def question(field: Field, start: int, end: int) -> Ask | None:
    """Return what to ask of a field of the message in bytes `start` to `end`; None for most."""
    if field.name == "size" and isinstance(field.value, int):
        return _of_size(field.value, start)
    if field.name == "crc":
        return _of_crc(start, end)
    return None


def _of_size(size: int, start: int) -> Ask:
    return ask(
        f"The message begins at byte {start}, its size is {size}. Where does the next one begin?",
        str(start + SIZE_END + size),
        f"The size counts what follows it: {start} + {SIZE_END} + {size}.",
        {
            str(start + size): "That takes the size for the whole message. It counts neither the "
            "offset nor itself.",
            str(start + 8 + size): "That leaves out the size field itself, 4 bytes.",
            str(start + HEADER_BYTES + size): "That counts the header twice: the size includes all "
            "of it after byte 12.",
        },
    )


def _of_crc(start: int, end: int) -> Ask:
    return ask(
        "Which bytes does the crc cover?",
        f"{start + CRC_END} to {end - 1}",
        "All that follows the crc: magic, attributes, lengths, key and value.",
        {
            f"{start} to {end - 1}": "It cannot cover itself. Nor does it cover the offset: so a "
            "broker can give a message its offset without a new crc.",
            f"{start + SIZE_END} to {end - 1}": "It cannot cover itself.",
            f"{start + HEADER_BYTES} to {end - 1}": "That leaves out magic, attributes and key "
            "length. The crc covers the header after it, too.",
        },
    )
