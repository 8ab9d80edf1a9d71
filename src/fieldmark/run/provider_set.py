"""The providers, models and functions of a run: checks before the first case, usage at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

from fieldmark.compare.provider_lookup import (
    find_functions,
    find_providers_and_judges,
    is_local,
    with_memos,
    with_provider_options,
)
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.metrics.identity import described
from fieldmark.metrics.usage import merged_usage, total_usage
from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject

if TYPE_CHECKING:
    from fieldmark.compare.semantic import SimilaritySource
    from fieldmark.metrics.summary import Summary
    from fieldmark.store.writer import RunDirectory

__all__ = ["ProviderSet", "RunUsageLog", "for_run"]

_Thing = TypeVar("_Thing")
_OFFLINE: Final = {"offline": True, "download": False}


def for_run(thing: _Thing, *, offline: bool = False) -> _Thing:
    """Return rules or an evaluation for one run, in which no pair is sent to a model twice.

    With `offline`, models use only cached responses.
    """
    try:
        thing = with_provider_options(thing, _OFFLINE) if offline else thing
    except OptionError as error:
        raise ConfigError.of(f"offline: {error.message}") from error
    return with_memos(thing, _memo)


def _memo(provider: Provider) -> SimilaritySource:
    from fieldmark.judges.providers.similarity_memo import SimilarityMemo

    return SimilarityMemo(provider)


class ProviderSet:
    """All providers, models and functions that rules or evaluators use."""

    __slots__ = ("_all", "_functions")

    def __init__(self, *things: object) -> None:
        self._all = find_providers_and_judges(things)
        self._functions = find_functions(things)

    def unready(self) -> list[Problem]:
        """Return why providers and functions cannot be used.

        Judges are checked with the evaluators.
        """
        providers = [each for each in self._all if hasattr(each, "similarities")]
        checked = [each for each in (*providers, *self._functions) if hasattr(each, "unready")]
        reasons = ((_name(each), each.unready()) for each in checked)
        return list(dict.fromkeys(Problem(f"{name}: {why}") for name, why in reasons if why))

    def check_ready(self) -> None:
        """Raise an error for providers that cannot be used."""
        problems = self.unready()
        if problems:
            raise ConfigError(problems)

    def identities(self) -> tuple[JsonObject, ...]:
        """Return what determines responses: model, endpoint, hash of weights, prompt version.

        Functions have the hash of their file, so that a run is not resumed with other ones.
        """
        named = [described(each) for each in self._all]
        for function in self._functions:
            from fieldmark.run.targets.target import file_digest  # rarely needed

            digest = None if function.file is None else file_digest(function.file)
            named.append({**described(function), "sha256": digest})
        return tuple(each for place, each in enumerate(named) if each not in named[:place])

    @property
    def unnamed_functions(self) -> tuple[str, ...]:
        """The functions that cannot be imported by their names, such as lambda expressions."""
        return tuple(dict.fromkeys(str(each) for each in self._functions if not each.importable))

    @property
    def are_local(self) -> bool:
        """Whether any process can use them, because they have no state and no rate limit."""
        return all(map(is_local, self._all))

    @property
    def has_usage(self) -> bool:
        """Whether any model reports usage."""
        return any(hasattr(each, "usage") for each in self._all)

    def usage(self) -> list[JsonObject]:
        """Return the usage of each model, including cached responses."""
        return self._records("usage")

    def spent(self) -> list[JsonObject]:
        """Return what this process sent to each model; cached responses are not counted."""
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
    """Writes model usage into the run directory, so that a resumed run can include it."""

    __slots__ = ("_before", "_providers", "_written")

    def __init__(self, providers: ProviderSet, directory: RunDirectory | None) -> None:
        self._providers = providers
        self._before: Sequence[JsonObject] = directory.read_usage_log() if directory else []
        self._written = self._before
        if directory is not None and providers.has_usage:
            directory.after_rows = lambda: self._write(directory)

    def _write(self, directory: RunDirectory) -> None:
        """Write the usage of the responses behind the rows that are on disk."""
        now = merged_usage(self._before, self._providers.usage())
        if now != self._written:
            directory.write_usage_log(now)
            self._written = now

    def added_to(self, summary: Summary) -> Summary:
        """Return the summary with the usage of all responses, also before an interruption."""
        usage = merged_usage(self._before, self._providers.usage())
        return replace(summary, usage=total_usage(usage)) if usage else summary


def _name(provider: object) -> str:
    return str(getattr(type(provider), "name", type(provider).__qualname__))
