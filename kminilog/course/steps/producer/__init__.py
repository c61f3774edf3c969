"""Step-throughs of the producer: partition, memory, failover."""
