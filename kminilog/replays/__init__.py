"""Step-throughs: what happens, one step after the other, as plain values that can be shown."""
