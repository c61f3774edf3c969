"""Which partition a record goes to: all partitioners of Kafka, and a user's own."""
