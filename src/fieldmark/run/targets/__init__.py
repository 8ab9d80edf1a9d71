"""What produces candidates: a command, a function of Python, an endpoint."""
