"""Options that evaluators share, and what they may be."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import isfinite

from fieldmark.errors import OptionError
from fieldmark.model.comparison import Comparator
from fieldmark.model.rule import Rule
from fieldmark.values.paths import PathError, parse_path

__all__ = ["check_limit", "check_rules", "is_path", "settled"]


def check_rules(option: str, rules: Iterable[Rule]) -> None:
    """Refuse two rules for one path, and weights that cannot be weighed with."""
    seen: set[object] = set()
    for rule in rules:
        place = _identity(rule.path)
        if place in seen:
            raise OptionError(option, f"names {rule.path} twice")
        seen.add(place)
        if not (isfinite(rule.weight) and rule.weight >= 0):
            raise OptionError(option, f"the weight of {rule.path} must be a number of at least 0")


def check_limit(option: str, limit: int) -> None:
    """Refuse a number of rows that nothing can have."""
    if limit < 0:
        raise OptionError(option, f"must be at least 0, not {limit}")


def settled(rules: Iterable[Rule], default: Comparator | None) -> tuple[Rule, ...]:
    """The rules with a comparator each that would use the default; lists keep their aligner."""
    return tuple(
        rule
        if default is None or rule.comparator is not None or rule.aligner is not None
        else replace(rule, comparator=default)
        for rule in rules
    )


def is_path(text: str) -> bool:
    """Whether a text follows the grammar of paths.

    >>> is_path("invoice.total"), is_path("invoice..total")
    (True, False)
    """
    try:
        parse_path(text)
    except PathError:
        return False
    return True


def _identity(path: str) -> object:
    return parse_path(path).segments if is_path(path) else path
