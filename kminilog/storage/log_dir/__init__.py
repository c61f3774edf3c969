"""One log dir: its topics, and its one writer."""
