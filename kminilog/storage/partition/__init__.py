"""One partition: its segments read, written, recovered, and deleted."""
