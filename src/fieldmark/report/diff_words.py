"""The conclusion of a comparison in words, the same in the terminal, in reports and on pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from fieldmark.metrics.difference import DiffVerdict, Direction, MetricDifference
from fieldmark.metrics.headline import METRIC_TITLES
from fieldmark.metrics.rates import Interval
from fieldmark.metrics.repeated_errors import RepeatedError
from fieldmark.model.json import JsonObject
from fieldmark.report.tables import number
from fieldmark.values.escape import visible
from fieldmark.values.text import plural
from fieldmark.wire.run_diff import RunDiff

__all__ = [
    "change_text",
    "conclusion",
    "conclusion_to_json",
    "explanation",
    "headline",
    "interval_text",
    "named_p",
    "p_value",
    "repeated_lines",
    "signed",
]

_SMALLEST_P: Final = 0.001
_HALF_DIGIT: Final = 5e-4
_MAX_NAMED: Final = 3
"""The number of attributes of each direction that a headline names."""
_MAX_REPEATED: Final = 5
_DIRECTIONS: Final = {DiffVerdict.WORSE: Direction.WORSE, DiffVerdict.BETTER: Direction.IMPROVED}


class _Part(NamedTuple):
    """A part of the headline; the name of an attribute is a link to the cases that changed."""

    text: str
    attribute: str | None = None
    direction: str | None = None


def conclusion(diff: RunDiff, escape: Callable[[str], str] = visible) -> str:
    """Return the headline and the numbers of changed cases; names of attributes are escaped."""
    if not diff.comparable:
        return headline(diff, escape)
    counts = diff.pairs.directions
    mixed = len(diff.mixed)
    parts = [
        f"{counts[Direction.IMPROVED]} improved",
        f"{counts[Direction.WORSE]} worse",
        f"{counts[Direction.UNCHANGED] - mixed} unchanged",
        *([f"{mixed} changed with the same score"] if mixed else []),
        *([f"{counts[Direction.NOT_SCORED]} not scored"] if counts[Direction.NOT_SCORED] else []),
    ]
    return f"{headline(diff, escape)}: {', '.join(parts)}"


def headline(diff: RunDiff, escape: Callable[[str], str] = visible) -> str:
    """Return the verdict, the attributes that changed, and the difference of the first metric."""
    changed = "".join(
        escape(part.text) if part.attribute else part.text for part in _changed_attributes(diff)
    )
    return f"{_capitalized(diff.word)}{changed}{';' if changed else ':'} {_evidence(diff)}"


def _changed_attributes(diff: RunDiff) -> Iterator[_Part]:
    """Yield what the headline says after the verdict about attributes that changed significantly.

    The averages of a metric can hide them: one attribute is better, and another one worse.
    """
    groups = {
        word: sorted(
            (item for item in diff.attributes.items() if item[1].word is word),
            key=lambda item: (-abs(item[1].delta or 0.0), item[0]),
        )
        for word in _DIRECTIONS
    }
    groups = {word: found for word, found in groups.items() if found}
    agrees = next(iter(groups), None) is diff.word
    if groups:
        yield _Part(" overall: " if agrees else " overall, but ")
    for place, (word, found) in enumerate(groups.items()):
        if place and agrees:
            yield _Part(", but ")
        elif place:
            yield _Part(" and " if all(len(each) == 1 for each in groups.values()) else ", and ")
        yield from _changed_group(word, found)


def _changed_group(word: DiffVerdict, found: list[tuple[str, MetricDifference]]) -> Iterator[_Part]:
    for place, (name, each) in enumerate(found[:_MAX_NAMED]):
        if place:
            yield _Part(" and " if place + 1 == len(found) else ", ")
        yield _Part(name, name, _DIRECTIONS[word].value)
        if len(found) == 1:
            yield _Part(f" is {word.value}")
        yield _Part(f" ({number(each.before)} → {number(each.after)})")
    if len(found) > _MAX_NAMED:
        yield _Part(f" and {len(found) - _MAX_NAMED} more")
    if len(found) > 1:
        yield _Part(f" are {word.value}")


def repeated_lines(diff: RunDiff) -> list[str]:
    """Return the repeated errors that only the second run has, and those that only the first has.

    Those of most values come first.
    """
    return [*_repeated("New", diff.new_errors), *_repeated("Fixed", diff.fixed_errors)]


def _repeated(title: str, errors: tuple[RepeatedError, ...]) -> Iterator[str]:
    yield from (f"{title}: {each.text}" for each in errors[:_MAX_REPEATED])
    if len(errors) > _MAX_REPEATED:
        yield f"{title}: {plural(len(errors) - _MAX_REPEATED, 'more repeated error')}"


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
        "changed": [list(part) for part in _changed_attributes(diff)],
        "repeated": list(repeated_lines(diff)),
    }


def _evidence(diff: RunDiff) -> str:
    main, title, cases = diff.main, METRIC_TITLES[diff.metric], plural(diff.pairs.cases, "case")
    if not diff.comparable:
        values = f"{title} {number(main.before)} and {number(main.after)}"
        return f"{values} over {cases}, by different {' and '.join(diff.different)}"
    facts = [change_text(main)]
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
    return number(None) if value is None else _with_sign(value) if value else "·"


def change_text(metric: MetricDifference) -> str:
    """Return the change of a metric with its sign, as `signed`.

    One more digit is shown if the change is not the difference of the rounded values, so that a
    change is never shown as none.
    """
    before, after, delta = metric.before, metric.after, metric.delta
    if before is None or after is None or not delta:
        return signed(delta)
    if round(delta, 3) and abs(round(before, 3) + round(delta, 3) - round(after, 3)) < _HALF_DIGIT:
        return signed(delta)
    digits = f"{abs(delta):.4f}"
    return f"{'+' if delta > 0 else '−'}{digits if float(digits) else '<0.0001'}"  # noqa: RUF001


def interval_text(interval: Interval | None) -> str:
    """Return the confidence interval of a difference."""
    if interval is None:
        return number(None)
    return f"{_with_sign(interval[0])} to {_with_sign(interval[1])}"


def _with_sign(value: float) -> str:
    """Return a number with its sign, if it is not zero after rounding."""
    text = f"{value:+.3f}"
    return text[1:] if not float(text) else text.replace("-", "−")  # noqa: RUF001 - a minus
