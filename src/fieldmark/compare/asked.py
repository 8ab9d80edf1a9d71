"""Whom the comparators of some rules ask about meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeAlias, cast

from fieldmark.compare.any_of import AnyOf
from fieldmark.compare.detect import Auto
from fieldmark.compare.semantic import Semantic
from fieldmark.model.comparison import Comparator, Provider
from fieldmark.model.rule import Rules

__all__ = ["providers_of", "with_providers"]

Change: TypeAlias = Callable[[Provider], Provider]


def providers_of(rules: Rules) -> tuple[Provider, ...]:
    """Every provider that the rules ask, once each.

    >>> [provider.name for provider in providers_of(Rules(default=Semantic()))]
    ['lexical']
    """
    comparators = (rules.default, *(rule.comparator for rule in rules.fields))
    found = (provider for each in comparators if each for provider in _providers(each))
    return tuple({id(provider): provider for provider in found}.values())


def with_providers(rules: Rules, change: Change) -> Rules:
    """The same rules, with other providers in the places of theirs; each is changed once."""
    changed: dict[int, Provider] = {id(each): change(each) for each in providers_of(rules)}

    def swap(provider: Provider) -> Provider:
        return changed[id(provider)]

    return replace(
        rules,
        default=None if rules.default is None else _with(rules.default, swap),
        fields=tuple(
            rule
            if rule.comparator is None
            else replace(rule, comparator=_with(rule.comparator, swap))
            for rule in rules.fields
        ),
    )


def _providers(comparator: Comparator) -> Iterator[Provider]:
    if isinstance(comparator, AnyOf):
        yield from _providers(comparator.inner)
    provider = getattr(comparator, "provider", None)
    if provider is not None:
        yield cast("Provider", provider)


def _with(comparator: Comparator, change: Change) -> Comparator:
    if isinstance(comparator, AnyOf):
        return replace(comparator, inner=_with(comparator.inner, change))
    if isinstance(comparator, Semantic | Auto):
        return replace(comparator, provider=change(comparator.provider))
    return comparator
