"""What draws and explains: searches, choices, bytes and their fields, as documents and pages."""
