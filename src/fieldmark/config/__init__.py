"""Configuration: files and values that people write, checked and turned into rules."""
