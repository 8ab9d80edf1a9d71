"""Compare texts by their words and values, as an approximation of their meaning."""
