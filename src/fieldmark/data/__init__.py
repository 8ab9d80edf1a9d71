"""Data in: rows of truth and candidate, read strictly, paired, and streamed as cases."""
