"""The providers that a configuration uses, however deeply nested."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TypeAlias, TypeVar, cast

from fieldmark.model.comparison import Provider
from fieldmark.model.rule import Rules

__all__ = ["find_providers", "find_providers_and_judges", "with_provider_options", "with_providers"]

_Thing = TypeVar("_Thing")
Change: TypeAlias = Callable[[Provider], Provider]
_Swap: TypeAlias = Callable[[object], object]


def find_providers(rules: Rules) -> tuple[Provider, ...]:
    """Every provider that the rules ask, once each.

    >>> from fieldmark.compare.semantic import Semantic
    >>> [provider.name for provider in find_providers(Rules(default=Semantic()))]
    ['lexical']
    """
    return tuple(
        cast("Provider", each) for each in find_providers_and_judges(rules) if _is_provider(each)
    )


def find_providers_and_judges(thing: object) -> tuple[object, ...]:
    """Everybody inside of rules or evaluators who is asked and keeps books, and every provider."""
    found = {id(part): part for part in _parts(thing) if _is_provider(part) or _keeps_books(part)}
    return tuple(found.values())


def with_providers(rules: Rules, change: Change) -> Rules:
    """The same rules, with other providers in the places of theirs; each is changed once."""
    return _changed(
        rules, lambda part: change(cast("Provider", part)) if _is_provider(part) else part
    )


def with_provider_options(thing: _Thing, options: Mapping[str, object]) -> _Thing:
    """The same rules or evaluators, in which whoever is asked has these options, if they know them.

    >>> from fieldmark.compare.semantic import Semantic
    >>> with_provider_options(Semantic(), {"offline": True}) == Semantic()
    True
    """

    def swap(part: object) -> object:
        if not (_is_provider(part) or _keeps_books(part)):
            return part
        known = {name for name, _ in _named(part)}
        return replace(part, **{k: v for k, v in options.items() if k in known})  # type: ignore[type-var]

    return _changed(thing, swap)


def _is_provider(part: object) -> bool:
    return callable(getattr(part, "similarities", None)) and hasattr(part, "approximate")


def _keeps_books(part: object) -> bool:
    return callable(getattr(part, "usage", None))


def _named(part: object) -> Iterator[tuple[str, object]]:
    """The options of a strategy; plain values of a document are no part of it."""
    for name in _options(part) or ():
        yield name, getattr(part, name)


def _options(part: object) -> tuple[str, ...] | None:
    """The names of the options of a strategy; nothing if it is none."""
    return _options_of_class(cast("Hashable", type(part)))


@cache
def _options_of_class(kind: Hashable) -> tuple[str, ...] | None:
    if not is_dataclass(kind):
        return None
    return tuple(option.name for option in fields(kind) if option.init)


def _parts(thing: object) -> Iterator[object]:
    if type(thing) is tuple:
        for each in thing:
            yield from _parts(each)
    elif _options(thing) is not None:
        yield thing
        for _, inner in _named(thing):
            yield from _parts(inner)


def _changed(thing: _Thing, swap: _Swap) -> _Thing:
    """The thing with its parts swapped, the innermost first; what two share, they share again."""
    done: dict[int, object] = {}

    def change(part: object) -> object:
        if type(part) is tuple:
            inner = tuple(map(change, part))
            return part if all(new is old for new, old in zip(inner, part, strict=True)) else inner
        if _options(part) is None:
            return part
        if id(part) not in done:
            new = {name: change(value) for name, value in _named(part)}
            other = {name: each for name, each in new.items() if each is not getattr(part, name)}
            done[id(part)] = swap(replace(part, **other) if other else part)  # type: ignore[type-var]
        return done[id(part)]

    return cast("_Thing", change(thing))
