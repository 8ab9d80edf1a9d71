"""Code judges, LLM judges, and the providers of semantic similarity."""
