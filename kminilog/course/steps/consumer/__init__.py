"""Step-throughs of groups: assignment, rebalance, and the whole way of a message."""
