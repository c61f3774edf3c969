"""Verification of a Kafka broker's log directory, which nobody writes here."""
