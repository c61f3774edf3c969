"""What `kminilog lab` shows, and how it watches a file."""
