# exercise: 3
# reason: next-not-first
import json
from pathlib import Path

_MANIFEST = json.loads(Path("files/kminilog-data/.manifests/tuesday.json").read_text())
FIRST = _MANIFEST["partitions"][1]["next_offset"]
