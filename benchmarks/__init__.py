"""Benchmarks of fieldmark, as ratios measured in one run: `python -m benchmarks`."""
