"""Step-throughs: the documents, and how they are shown."""
