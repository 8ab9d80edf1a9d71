"""Other tools on the same documents, each in an environment of its own."""
