"""The conclusion of a comparison in words, the same in the terminal, in reports and on pages."""

from __future__ import annotations

from collections import Counter
from typing import Final

from fieldmark.metrics.difference import DiffVerdict, Direction
from fieldmark.metrics.headline import METRIC_TITLES
from fieldmark.metrics.rates import Interval
from fieldmark.model.json import JsonObject
from fieldmark.report.tables import number
from fieldmark.values.text import plural
from fieldmark.wire.run_diff import RunDiff

__all__ = [
    "conclusion",
    "conclusion_to_json",
    "explanation",
    "headline",
    "interval_text",
    "named_p",
    "p_value",
    "signed",
]

_SMALLEST_P: Final = 0.001


def conclusion(diff: RunDiff) -> str:
    """Return the headline, the numbers of changed cases, and the attributes that changed."""
    if not diff.comparable:
        return headline(diff)
    counts = ", ".join(
        f"{count} {way.replace('_', ' ')}"
        for way, count in diff.case_counts.items()
        if count or way != Direction.NOT_SCORED
    )
    words = Counter(each.word for each in diff.attributes.values())
    significant = (DiffVerdict.WORSE, DiffVerdict.BETTER)
    changed = [f"{words[word]} {word.value}" for word in significant if word in words]
    attributes = f"; attributes: {', '.join(changed)}" if changed else ""
    return f"{headline(diff)}: {counts}{attributes}"


def headline(diff: RunDiff) -> str:
    """Return the verdict with the difference of the first metric and its interval."""
    return f"{_capitalized(diff.word)}: {_evidence(diff)}"


def explanation(diff: RunDiff) -> str:
    """Return why there is no difference, or what could be told from as many cases.

    Empty for a significant difference and for runs that are not comparable.
    """
    detectable = diff.main.detectable
    if diff.word is DiffVerdict.SAME:
        if not detectable:
            return "no case differs in this metric"
        return f"a change of {detectable:.3f} or more would probably have been found"
    if diff.word is DiffVerdict.TOO_FEW:
        if detectable is None:
            return "so few cases differ that no change could be significant"
        return f"with as many cases, a change of less than {detectable:.3f} is probably not found"
    return ""


def conclusion_to_json(diff: RunDiff) -> JsonObject:
    """Return the texts of the conclusion for pages."""
    text = explanation(diff)
    return {
        "verdict": _capitalized(diff.word),
        "evidence": _evidence(diff),
        "explanation": f"{_capitalized(text)}." if text else "",
    }


def _evidence(diff: RunDiff) -> str:
    main, title, cases = diff.main, METRIC_TITLES[diff.metric], plural(diff.pairs.cases, "case")
    if not diff.comparable:
        values = f"{title} {number(main.before)} and {number(main.after)}"
        return f"{values} over {cases}, by different {' and '.join(diff.different)}"
    facts = [signed(main.delta)]
    if main.detectable:
        facts.append(f"95% CI {interval_text(main.interval)}")
    if main.is_tested:
        facts.append(named_p(main.p))
    values = f"{title} {number(main.before)} → {number(main.after)}"
    return f"{values} ({', '.join(facts)}) over {cases}"


def named_p(p: float) -> str:
    """Return a p-value for a sentence."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def p_value(p: float) -> str:
    """Return a p-value as text; very small ones as less than a thousandth."""
    return f"<{_SMALLEST_P}" if p < _SMALLEST_P else number(p)


def signed(value: float | None) -> str:
    """Return a difference with its sign; a dot for no difference."""
    return number(None) if value is None else f"{value:+.3f}" if value else "·"


def interval_text(interval: Interval | None) -> str:
    """Return the confidence interval of a difference."""
    return number(None) if interval is None else f"{interval[0]:+.3f} to {interval[1]:+.3f}"
