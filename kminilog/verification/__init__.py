"""Verification: everything that is wrong with a log, named by class and place. No Spark here."""
