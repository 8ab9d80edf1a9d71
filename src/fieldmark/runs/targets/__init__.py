"""Targets: commands, functions and HTTP endpoints that produce candidates during a run."""
