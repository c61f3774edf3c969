"""A cluster of brokers in one process: who leads which partition, and copies that survive."""
