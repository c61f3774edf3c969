"""Let Python find a user's own classes in the current directory, too.

So `--partitioner my_partitioner.Mine` works next to `my_partitioner.py`. The directory is looked at
last, so that a user's file does not replace an installed module of the same name.
"""

import sys
from pathlib import Path


def make_importable() -> None:
    """Have this process find modules in the current directory, too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
