"""The side that reads: who gets which partition, groups, and the consumer itself."""
