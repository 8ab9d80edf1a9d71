"""Scores in its own process: `python -m benchmarks.scored TRUTH CANDIDATE RULES OUT N`."""

from __future__ import annotations

import sys

import fieldmark as fm

if __name__ == "__main__":
    truth, candidate, rules, out, workers = sys.argv[1:]
    fm.score(truth, candidate, rules=rules, out=out, workers=int(workers))
