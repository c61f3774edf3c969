"""The bytes: what one message, one index entry and one file name look like. No files here."""
