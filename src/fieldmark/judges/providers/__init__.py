"""Providers of similarity in meaning that need a model, an endpoint or somebody's code."""
