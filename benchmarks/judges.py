"""Times a code judge that stays against one that is started for each case."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

from benchmarks.measure import print_table
from fieldmark.judges.code_judge import CodeJudge, JudgeProtocol
from fieldmark.model.case import Case

__all__ = ["judges"]

SCRIPT: Final = Path(__file__).resolve().parent.parent / "examples" / "judges" / "fuzzy_match.py"
CASES: Final = 500
SAMPLE: Final = 50
"""Cases that are judged by a process each: the time of all is a multiple of theirs."""
LEAST: Final = 50


def judges() -> bool:
    """Print what a case costs either way; whether staying is as much faster as it has to be."""
    stays = _seconds(JudgeProtocol.LINES, CASES)
    starts = _seconds(JudgeProtocol.PROCESS, SAMPLE) * CASES / SAMPLE
    ratio = starts / stays
    met = ratio >= LEAST
    rows = [
        ("a process a case", f"{starts:.2f} s", f"{starts / CASES * 1e3:.2f} ms", "", "", ""),
        (
            "lines",
            f"{stays:.2f} s",
            f"{stays / CASES * 1e3:.2f} ms",
            f"{ratio:,.0f}",
            f"≥ {LEAST}",
            "ok" if met else "FAIL",
        ),
    ]
    print_table(("judge", f"{CASES} cases", "a case", "times as fast", "target", ""), rows)
    return met


def _seconds(protocol: JudgeProtocol, cases: int) -> float:
    """The time from the first start to the last end of a judge that scores so many cases."""
    judge = CodeJudge(script=(sys.executable, str(SCRIPT)), protocol=protocol)
    began = time.perf_counter()
    with judge.opened() as judging:
        for number in range(cases):
            score = judging(Case(str(number), f"invoice {number}", f"invoice {number}")).score
            assert score == 1.0
    return time.perf_counter() - began
