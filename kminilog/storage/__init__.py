"""The files: segments, the partitions made of them, and the log dir that holds the partitions."""
