"""Comparators: whether two values match, a module each."""
