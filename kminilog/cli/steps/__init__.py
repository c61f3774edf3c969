"""The commands `kminilog step NAME`: what each takes, and whose document it shows."""
