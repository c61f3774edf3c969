"""What a notebook asks of an object, and a text that must not come out as it is."""

import re
from typing import Any

HOSTILE = "<script>document.title='y'</script>&\x1b\u202e\""


def shown(thing: Any) -> str:
    """Return what a notebook gets, which has no hostile text."""
    found: str = thing._repr_html_()
    assert "<script" not in found
    assert not re.search("[\x1b\u202e]", found)
    return found
