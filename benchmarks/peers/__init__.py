"""Other tools on the same documents, each in its own environment."""
