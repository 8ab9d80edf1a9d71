"""The providers, models and functions of a run: checks before the first case, usage at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar, cast

from fieldmark.compare.provider_lookup import (
    find_functions,
    find_providers_and_judges,
    is_local,
    with_memos,
    with_provider_options,
)
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.metrics.identity import described
from fieldmark.metrics.usage import merged_usage, total_spent, total_usage
from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject

if TYPE_CHECKING:
    from fieldmark.compare.semantic import SimilaritySource
    from fieldmark.judges.llm.usage_log import Price, SpentChange, UsageLog
    from fieldmark.metrics.summary import Summary
    from fieldmark.store.writer import RunDirectory

__all__ = ["ProviderSet", "RunUsageLog", "for_run"]

_Thing = TypeVar("_Thing")
_OFFLINE: Final = {"offline": True, "download": False}
_REPLAYED: Final = ("replayed_calls", "replayed_cost")


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
    """All providers, models and functions that rules or evaluators use.

    A model that is the `target` is also metered, but no provider.
    """

    __slots__ = ("_all", "_functions", "_target")

    def __init__(self, *things: object, target: object = None) -> None:
        self._all = find_providers_and_judges(things)
        self._functions = find_functions(things)
        self._target = find_providers_and_judges(target)

    def unready(self) -> list[Problem]:
        """Return why providers and functions cannot be used.

        Judges are checked with the evaluators.
        """
        providers = _once([each for each in self._all if hasattr(each, "similarities")])
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
        # Which field a provider compares is part of its rule.
        named = [described(_without_field(each)) for each in self._all]
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
    def metered(self) -> list[Metered]:
        """The models that report usage; those that share a usage log are listed once."""
        models = (*self._all, *self._target)
        metered = [each for each in models if hasattr(each, "usage") and hasattr(each, "spent")]
        return _once([cast("Metered", each) for each in metered])

    def spent(self) -> JsonObject:
        """Return what was paid for all models so far; nothing if there are none."""
        spent = [{**_described(each), **each.spent()} for each in self.metered]
        return total_spent(spent) if spent else {}


class Metered(Protocol):
    """A provider or judge that reports its usage."""

    def usage(self) -> JsonObject:
        """Return the original cost of all responses, whether cached or not."""
        ...

    def spent(self) -> JsonObject:
        """Return what was paid, and the original cost of cached responses."""
        ...


class RunUsageLog:
    """Adds model usage to a summary, also that of earlier attempts, and writes it while it runs.

    What was paid is written with every call, so that a resumed run continues with the rest of its
    budget; usage and cached responses are written with the rows that they belong to.
    """

    __slots__ = ("_before", "_models", "_removed", "_written")

    def __init__(self, providers: ProviderSet, directory: RunDirectory | None) -> None:
        self._models = providers.metered
        self._before: Sequence[JsonObject] = []
        self._removed: list[JsonObject] = []
        if directory is not None and self._models:
            self._before = directory.read_usage_log()
            self._restore(directory)
            directory.after_rows = lambda: self._write(directory)
        self._written = self._before

    def _restore(self, directory: RunDirectory) -> None:
        """Add what earlier attempts paid to the usage logs, and write all further changes."""
        before: dict[tuple[int, str, str], list[JsonObject]] = {}
        for change in directory.read_spent():
            number = change.get("number")
            key = (number if isinstance(number, int) else -1, *_names(change))
            before.setdefault(key, []).append(change)
        for number, model in enumerate(self._models):
            log: UsageLog | None = getattr(model, "usage_log", None)
            if log is None:
                continue
            named = _described(model)
            log.restore(map(_change_from_json, before.pop((number, *_names(named)), [])))
            price: Price = getattr(model, "price", lambda _: None)
            log.write_change = partial(_append_change, directory, number, named, price)
        # Models of an earlier attempt that are no longer used, because changes were accepted.
        for changes in before.values():
            name, model_name = _names(changes[0])
            total = total_spent(changes)
            del total["asked"]
            self._removed.append({"name": name, "model": model_name, **total, "replayed_cost": 0.0})

    def _usage(self) -> list[JsonObject]:
        now: list[JsonObject] = []
        for model in self._models:
            spent = model.spent()
            replayed = {name: spent.get(name) for name in _REPLAYED}
            now.append({**_described(model), **model.usage(), **replayed})
        return merged_usage(self._before, now)

    def _write(self, directory: RunDirectory) -> None:
        """Write the usage of the responses behind the rows that are on disk."""
        now = self._usage()
        if now != self._written:
            directory.write_usage_log(now)
            self._written = now

    def added_to(self, summary: Summary) -> Summary:
        """Return the summary with the usage of all responses, also before an interruption."""
        usage = self._usage()
        if not usage:
            return summary
        spent = [{**_described(each), **each.spent()} for each in self._models]
        for each, total in zip(spent, usage[len(usage) - len(spent) :], strict=True):
            each |= {name: total[name] for name in _REPLAYED}
        used = [{name: each[name] for name in each if name not in _REPLAYED} for each in usage]
        return replace(
            summary, usage=total_usage(used), spent=total_spent([*self._removed, *spent])
        )


def _once(models: Sequence[_Thing]) -> list[_Thing]:
    """Return the models without further copies of one that shares its usage log with them."""
    return list({id(getattr(each, "usage_log", each)): each for each in models}.values())


def _without_field(provider: object) -> object:
    names = [name for name in ("field", "description") if getattr(provider, name, "")]
    return replace(provider, **dict.fromkeys(names, "")) if names else provider  # type: ignore[type-var]


def _described(model: object) -> JsonObject:
    return {"name": _name(model), "model": str(getattr(model, "model", ""))}


def _names(record: JsonObject) -> tuple[str, str]:
    return str(record.get("name")), str(record.get("model"))


def _append_change(
    directory: RunDirectory, number: int, named: JsonObject, price: Price, change: SpentChange
) -> None:
    directory.append_spent(
        {
            "number": number,
            **named,
            "requests": change.requests,
            "failed_requests": change.failed_requests,
            "input_tokens": change.tokens.input_tokens,
            "output_tokens": change.tokens.output_tokens,
            "cost": price(change.tokens),
            "call": change.call,
        }
    )


def _change_from_json(change: JsonObject) -> SpentChange:
    from fieldmark.judges.llm.usage_log import SpentChange, TokenCount

    def count(name: str) -> int:
        value = change.get(name)
        return value if isinstance(value, int) else 0

    return SpentChange(
        requests=count("requests"),
        failed_requests=count("failed_requests"),
        tokens=TokenCount(count("input_tokens"), count("output_tokens")),
        call=str(change.get("call") or ""),
    )


def _name(provider: object) -> str:
    return str(getattr(type(provider), "name", type(provider).__qualname__))
