"""Providers of semantic similarity that use a model, an endpoint or a function."""
