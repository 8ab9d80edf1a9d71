"""Everybody a run asks: ready before the first case, told in the manifest, paid for in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from fieldmark.compare.provider_lookup import find_providers_and_judges, with_provider_options
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.metrics.identity import described
from fieldmark.metrics.usage import merged_usage, total_usage
from fieldmark.model.json import JsonObject, JsonValue

if TYPE_CHECKING:
    from fieldmark.metrics.summary import Summary

__all__ = ["Asked", "offline"]

_Thing = TypeVar("_Thing")
_OFFLINE: Final = {"offline": True, "download": False}


def offline(thing: _Thing, *, wanted: bool = True) -> _Thing:
    """The same rules or evaluation, in which models are asked for nothing but answers kept."""
    try:
        return with_provider_options(thing, _OFFLINE) if wanted else thing
    except OptionError as error:
        raise ConfigError.of(f"offline: {error.message}.") from error


class Asked:
    """All providers and models that some rules or evaluators name."""

    __slots__ = ("_all",)

    def __init__(self, *things: object) -> None:
        self._all = find_providers_and_judges(things)

    def unready(self) -> list[Problem]:
        """Why providers could not be asked a single question; judges are looked at by name."""
        providers = [each for each in self._all if hasattr(each, "similarities")]
        told = ((_name(each), each.unready()) for each in providers if hasattr(each, "unready"))
        return list(dict.fromkeys(Problem(f"{name}: {why}") for name, why in told if why))

    def refuse_unready(self) -> None:
        """Refuse providers that could not be asked a single question, before anybody is."""
        problems = self.unready()
        if problems:
            raise ConfigError(problems)

    def identities(self) -> JsonValue:
        """Who they are: model, endpoint, hash of weights, edition of the prompt."""
        told: list[JsonValue] = []
        for each in map(described, self._all):
            told += [] if each in told else [each]
        return told

    @property
    def keeps_books(self) -> bool:
        """Whether somebody is asked whose answers cost something."""
        return any(hasattr(each, "usage") for each in self._all)

    def usage(self) -> list[JsonObject]:
        """What the answers took to make, of each who keeps books."""
        return self._told("usage")

    def added(self, summary: Summary, before: Sequence[JsonObject] = ()) -> Summary:
        """The summary with what the answers took to make, where somebody keeps books.

        `before` are the books from before a run was broken off.
        """
        told = merged_usage(before, self.usage())
        return replace(summary, usage=total_usage(told)) if told else summary

    def spent(self) -> JsonObject:
        """What was sent and paid this time, where somebody keeps books."""
        told = self._told("spent")
        return {"spent": list[JsonValue](told)} if told else {}

    def _told(self, books: str) -> list[JsonObject]:
        keeping = [each for each in self._all if hasattr(each, books)]
        once = {id(getattr(each, "usage_log", each)): each for each in keeping}
        return [{**_named(each), **getattr(each, books)()} for each in once.values()]


def _named(asked: object) -> JsonObject:
    return {"name": _name(asked), "model": str(getattr(asked, "model", ""))}


def _name(asked: object) -> str:
    return str(getattr(type(asked), "name", type(asked).__qualname__))
