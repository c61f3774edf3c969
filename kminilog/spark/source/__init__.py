"""From files to records with key, value and place."""
