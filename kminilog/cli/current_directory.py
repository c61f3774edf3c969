"""Where a user's own classes may lie: the current directory, besides where Python looks.

So `--partitioner my_partitioner.Mine` works next to `my_partitioner.py`. The directory is looked at
last: a file of the user's that is called like a module of somebody else's does not get in its way.
"""

import sys
from pathlib import Path


def make_importable() -> None:
    """Have this process find modules in the current directory, too."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
