"""`python -m tests.pictures`: draw all pictures anew."""

from tests.pictures import DRAWN, FOLDER, drawn

for name in DRAWN:
    (FOLDER / name).write_bytes(drawn(name))
