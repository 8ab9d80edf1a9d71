"""Reading of data: rows of truth and candidate, read strictly, paired, and streamed as cases."""
