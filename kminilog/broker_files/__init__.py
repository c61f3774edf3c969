"""The files of a real Kafka broker, formats v0 to v2, as bytes. Opens no file, writes none."""
