"""Scores in its own process: `python -m benchmarks.scored TRUTH CANDIDATE RULES OUT N [ENGINE]`."""

from __future__ import annotations

import sys

import fieldmark as fm

if __name__ == "__main__":
    truth, candidate, rules, out, workers, *further = sys.argv[1:]
    engine = further[0] if further else "processes"
    fm.score(truth, candidate, rules=rules, out=out, workers=int(workers), engine=engine)
