"""The engine in a browser: what runs there, and the folder that a web server shows."""
