"""CPU time of a code judge with the protocol `lines`, relative to one process per case."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from benchmarks.measure import print_table, verdict
from fieldmark.judges.code_judge import CodeJudge, JudgeProtocol
from fieldmark.model.case import Case

SCRIPT: Final = Path(__file__).resolve().parent.parent / "examples" / "judges" / "fuzzy_match.py"
CASES: Final = 500
SAMPLE: Final = 50
"""Cases that are judged with one process each; the CPU time of all cases is extrapolated."""
MIN_SPEEDUP: Final = 50


def judges() -> bool:
    """Print the CPU time per case of both protocols; return whether `lines` reaches its target."""
    _seconds(JudgeProtocol.LINES, 1)  # loads the modules that judges need
    lines = _seconds(JudgeProtocol.LINES, CASES)
    processes = _seconds(JudgeProtocol.PROCESS, SAMPLE) * CASES / SAMPLE
    ratio = processes / lines
    met = ratio >= MIN_SPEEDUP
    rows = [
        (
            "one process per case",
            f"{processes:.2f} s",
            f"{processes / CASES * 1e3:.2f} ms",
            "",
            "",
            "",
        ),
        (
            "lines",
            f"{lines:.2f} s",
            f"{lines / CASES * 1e3:.2f} ms",
            f"{ratio:,.0f}",
            f"≥ {MIN_SPEEDUP}",
            verdict(ok=met),
        ),
    ]
    print_table(("judge", f"{CASES} cases", "per case", "speedup", "target", ""), rows)
    return met


def _seconds(protocol: JudgeProtocol, cases: int) -> float:
    """Return the CPU seconds of a judge for a number of cases, with those of its processes."""
    judge = CodeJudge(script=(sys.executable, str(SCRIPT)), protocol=protocol)
    started = _cpu_seconds()
    with judge.opened() as score_case:
        for number in range(cases):
            score = score_case(Case(str(number), f"invoice {number}", f"invoice {number}")).score
            assert score == 1.0
    return _cpu_seconds() - started


def _cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its processes that have ended."""
    return sum(os.times()[:4])
