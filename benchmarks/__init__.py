"""How fast fieldmark is, as ratios measured in one run: `python -m benchmarks`."""
