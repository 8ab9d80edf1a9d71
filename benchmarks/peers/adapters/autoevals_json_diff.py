"""autoevals: JSONDiff, which walks lists by index and has no per-field rules."""

from __future__ import annotations

from typing import Any

from autoevals.json import JSONDiff
from documents import drive

scorer = JSONDiff(preserve_strings=True)


def compare(expected: dict[str, Any], candidate: dict[str, Any]) -> object:
    """Score one pair."""
    return scorer.eval(candidate, expected)


if __name__ == "__main__":
    drive(compare)
