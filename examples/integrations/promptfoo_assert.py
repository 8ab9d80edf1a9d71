"""fieldmark as a Python assertion of promptfoo; promptfooconfig.yaml uses it."""

from __future__ import annotations

from pathlib import Path

import fieldmark as fm

RULES = Path(__file__).parent / "rules.yaml"


def get_assert(output: str, context: dict) -> dict:
    """Score the JSON in the output against the variable `expected` of the test."""
    result = fm.compare(context["vars"]["expected"], output, rules=RULES)
    if result.score is None:
        raise RuntimeError(result.reasoning)
    reason = "; ".join(result.misses) or result.reasoning
    return {"pass": result.verdict == "pass", "score": result.score, "reason": reason}
