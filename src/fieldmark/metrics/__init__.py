"""Counts, rates, scores and summaries, computed from outcomes by pure functions."""
