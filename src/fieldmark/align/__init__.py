"""Aligners, which decide which items of two lists belong together."""
