"""Comparators, which decide whether two values match."""
