"""Providers of semantic similarity: local models, endpoints and Python functions."""
