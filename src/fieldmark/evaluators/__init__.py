"""Evaluators that score a case from its two documents, without external programs or models."""
