"""A step-through as one self-contained page: its markup, its style sheet, its viewer."""
