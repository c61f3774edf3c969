"""Many messages at once, as columns: fast twins of plain code, with the same bytes and answers."""
