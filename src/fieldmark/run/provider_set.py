"""The providers and models that a run asks: checked before the first case, billed at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from fieldmark.compare.provider_lookup import find_providers_and_judges, with_provider_options
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.metrics.identity import described
from fieldmark.metrics.usage import merged_usage, total_usage
from fieldmark.model.json import JsonObject

if TYPE_CHECKING:
    from fieldmark.metrics.summary import Summary
    from fieldmark.store.run_folder import RunFolder

__all__ = ["ProviderSet", "RunUsageLog", "offline"]

_Thing = TypeVar("_Thing")
_OFFLINE: Final = {"offline": True, "download": False}


def offline(thing: _Thing, *, wanted: bool = True) -> _Thing:
    """The same rules or evaluation, in which models answer from their cache only."""
    try:
        return with_provider_options(thing, _OFFLINE) if wanted else thing
    except OptionError as error:
        raise ConfigError.of(f"offline: {error.message}.") from error


class ProviderSet:
    """All providers and models that some rules or evaluators use."""

    __slots__ = ("_all",)

    def __init__(self, *things: object) -> None:
        self._all = find_providers_and_judges(things)

    def unready(self) -> list[Problem]:
        """Why providers cannot be asked; judges are checked by their own names."""
        providers = [each for each in self._all if hasattr(each, "similarities")]
        reasons = ((_name(each), each.unready()) for each in providers if hasattr(each, "unready"))
        return list(dict.fromkeys(Problem(f"{name}: {why}") for name, why in reasons if why))

    def check_ready(self) -> None:
        """Raise an error for providers that cannot be asked."""
        problems = self.unready()
        if problems:
            raise ConfigError(problems)

    def identities(self) -> tuple[JsonObject, ...]:
        """What an answer depends on: model, endpoint, hash of weights, version of the prompt."""
        found: list[JsonObject] = []
        for each in map(described, self._all):
            if each not in found:
                found.append(each)
        return tuple(found)

    @property
    def has_usage(self) -> bool:
        """Whether a model is asked whose answers cost something."""
        return any(hasattr(each, "usage") for each in self._all)

    def usage(self) -> list[JsonObject]:
        """What the answers of each model cost."""
        return self._records("usage")

    def spent(self) -> list[JsonObject]:
        """What was sent and paid this time; a cached answer costs nothing."""
        return self._records("spent")

    def _records(self, method: str) -> list[JsonObject]:
        metered = [each for each in self._all if hasattr(each, method)]
        once = {id(getattr(each, "usage_log", each)): each for each in metered}
        return [
            {
                "name": _name(each),
                "model": str(getattr(each, "model", "")),
                **getattr(each, method)(),
            }
            for each in once.values()
        ]


class RunUsageLog:
    """What models cost, written beside a run so that a resumed run still knows it."""

    __slots__ = ("_before", "_providers", "_written")

    def __init__(self, providers: ProviderSet, folder: RunFolder | None) -> None:
        self._providers = providers
        self._before: Sequence[JsonObject] = folder.read_usage_log() if folder else []
        self._written = self._before
        if folder is not None and providers.has_usage:
            folder.after_rows = lambda: self._write(folder)

    def _write(self, folder: RunFolder) -> None:
        """Write what the answers cost on which the rows on disk rest."""
        now = merged_usage(self._before, self._providers.usage())
        if now != self._written:
            folder.write_usage_log(now)
            self._written = now

    def added_to(self, summary: Summary) -> Summary:
        """The summary with the cost of all answers, including those before an interruption."""
        usage = merged_usage(self._before, self._providers.usage())
        return replace(summary, usage=total_usage(usage)) if usage else summary


def _name(provider: object) -> str:
    return str(getattr(type(provider), "name", type(provider).__qualname__))
