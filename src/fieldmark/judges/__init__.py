"""External judges: programs of the user and language models."""
