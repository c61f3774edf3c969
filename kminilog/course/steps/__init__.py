"""Step-throughs: what the engine did, as documents that are read step by step."""
