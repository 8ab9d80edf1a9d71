"""Scores in its own process: `python -m benchmarks.scored TRUTH CANDIDATE RULES OUT N [ENGINE]`.

Prints the peak memory of the process and of its largest worker as a list in JSON.
"""

from __future__ import annotations

import resource
import sys

import fieldmark as fm
from benchmarks.child import peak_memory

if __name__ == "__main__":
    truth, candidate, rules, out, workers, *further = sys.argv[1:]
    engine = further[0] if further else "processes"
    fm.score(truth, candidate, rules=rules, out=out, workers=int(workers), engine=engine)
    print([peak_memory(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10])
