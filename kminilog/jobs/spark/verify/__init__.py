"""Verification on executors; what is verified stands in `verification` and `jobs.accounting`."""
