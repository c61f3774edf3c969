"""From records to staged segments, and their publication."""
