"""Verification: find every fault of a log, and report its class and place. Uses no Spark."""
