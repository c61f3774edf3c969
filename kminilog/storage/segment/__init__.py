"""One segment: its `.log`, its `.index`, how far it is valid, and a search in it."""
