"""Publication: the files that a job has written become part of a topic, all or nothing."""
