"""Scores in its own process: `python -m benchmarks.scored TRUTH CANDIDATE RULES OUT N`.

Optional further arguments are the engine, and a file for the peak memory of this process in KB.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import fieldmark as fm

if __name__ == "__main__":
    truth, candidate, rules, out, workers, *further = sys.argv[1:]
    engine = further[0] if further else "processes"
    fm.score(truth, candidate, rules=rules, out=out, workers=int(workers), engine=engine)
    if further:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        Path(further[1]).write_text(str(peak))
