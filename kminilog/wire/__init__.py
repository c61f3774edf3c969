"""Kafka's network protocol: stock clients talk to a log dir, or to a cluster."""
