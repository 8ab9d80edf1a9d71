"""The providers, models and functions of a run: checks before the first case, usage at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar, cast

from fieldmark.compare.provider_lookup import (
    find_functions,
    find_providers_and_judges,
    is_local,
    with_memos,
    with_provider_options,
)
from fieldmark.errors import ConfigError, OptionError, Problem
from fieldmark.judges.llm.usage_log import LlmCall, SpentChange, TokenCount, UsageLog
from fieldmark.metrics.identity import described
from fieldmark.metrics.summary import total_spent, total_usage
from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject
from fieldmark.runs.targets.target import file_digest

if TYPE_CHECKING:
    from fieldmark.compare.semantic import SimilaritySource
    from fieldmark.judges.llm.usage_log import Price
    from fieldmark.metrics.summary import Summary
    from fieldmark.runs.run_directory import RunDirectory


_Thing = TypeVar("_Thing")
_OFFLINE: Final = {"offline": True, "download": False}


def for_run(thing: _Thing, *, offline: bool = False) -> _Thing:
    """Return rules or an evaluation for one run that sends no pair to a model twice.

    With `offline`, models use only cached responses.
    """
    try:
        thing = with_provider_options(thing, _OFFLINE) if offline else thing
    except OptionError as error:
        raise ConfigError.of(f"offline: {error.message}") from error

    def memo(provider: Provider) -> SimilaritySource:
        from fieldmark.judges.similarity_providers import SimilarityMemo  # only for models

        return SimilarityMemo(provider)

    return with_memos(thing, memo)


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
        providers = _once([provider for provider in self._all if hasattr(provider, "similarities")])
        checked = [thing for thing in (*providers, *self._functions) if hasattr(thing, "unready")]
        reasons = ((_name(thing), thing.unready()) for thing in checked)
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
        named = [described(_without_field(provider)) for provider in self._all]
        for function in self._functions:
            digest = None if function.file is None else file_digest(function.file)
            named.append({**described(function), "sha256": digest})
        return tuple(
            identity for index, identity in enumerate(named) if identity not in named[:index]
        )

    @property
    def unnamed_functions(self) -> tuple[str, ...]:
        """The functions that cannot be imported by their names, such as lambda expressions."""
        return tuple(
            dict.fromkeys(str(function) for function in self._functions if not function.importable)
        )

    @property
    def are_local(self) -> bool:
        """Whether any process can use them, because they have no state and no rate limit."""
        return all(map(is_local, self._all))

    @property
    def metered(self) -> list[Metered]:
        """The models that report usage; models that share a usage log are listed once."""
        models = (*self._all, *self._target)
        metered = [model for model in models if hasattr(model, "usage") and hasattr(model, "spent")]
        return _once([cast("Metered", model) for model in metered])

    def spent(self) -> JsonObject:
        """Return the cost of all models so far; nothing if there are none."""
        spent = [{**_described(model), **model.spent()} for model in self.metered]
        return total_spent(spent) if spent else {}


class Metered(Protocol):
    """A provider or judge that reports its usage."""

    def usage(self) -> JsonObject:
        """Return the original cost of all responses, whether cached or not."""
        ...

    def spent(self) -> JsonObject:
        """Return the cost, and the original cost of cached responses."""
        ...


class RunUsageLog:
    """Adds model usage of all attempts to a summary, and writes it while the run proceeds.

    The cost is written with every call, so that a resumed run continues with the rest of its
    budget; a response is written after the rows that use it. Each response counts once.
    """

    __slots__ = ("_models", "_removed")

    def __init__(self, providers: ProviderSet, directory: RunDirectory | None) -> None:
        self._models = providers.metered
        self._removed: list[_Usage] = []
        if directory is not None and self._models:
            self._restore(directory)
            directory.after_rows = lambda: self._write(directory)

    def _restore(self, directory: RunDirectory) -> None:
        """Add the calls of earlier attempts to the usage logs, and write all further changes."""
        before: dict[tuple[int, str, str], list[JsonObject]] = {}
        for record in directory.read_spent():
            number = record.get("number")
            key = (number if isinstance(number, int) else -1, *_names(record))
            before.setdefault(key, []).append(record)
        for number, model in enumerate(self._models):
            log = _log_of(model)
            if log is None:
                continue
            named = _described(model)
            _restore_log(log, before.pop((number, *_names(named)), []))
            log.write_change = partial(_append_change, directory, number, named, _price_of(model))
        # Models of an earlier attempt that are no longer used, because changes were accepted.
        self._removed = list(map(_removed_usage, before.values()))

    def _write(self, directory: RunDirectory) -> None:
        """Write the responses behind the rows that are on disk."""
        for number, model in enumerate(self._models):
            log = _log_of(model)
            for call in () if log is None else log.take_new():
                tokens = TokenCount(call.input_tokens, call.output_tokens)
                directory.append_spent(
                    {
                        "number": number,
                        **_described(model),
                        "cost": _price_of(model)(tokens),
                        "response": {**call._asdict()},
                    }
                )

    def added_to(self, summary: Summary) -> Summary:
        """Return the summary with the usage of all responses, also before an interruption."""
        used = [
            _Usage({**_described(model), **model.usage()}, {**_described(model), **model.spent()})
            for model in self._models
        ]
        if not used:
            return summary
        models = [*self._removed, *used]
        return replace(
            summary,
            usage=total_usage([model.usage for model in models]),
            spent=total_spent([model.spent for model in models]),
        )


class _Usage(NamedTuple):
    """The original cost of the responses of a model, and the amount that was paid."""

    usage: JsonObject
    spent: JsonObject


def _once(models: Sequence[_Thing]) -> list[_Thing]:
    """Return the models without further copies of one that shares its usage log with them."""
    return list({id(getattr(model, "usage_log", model)): model for model in models}.values())


def _without_field(provider: object) -> object:
    names = [name for name in ("field", "description") if getattr(provider, name, "")]
    return replace(provider, **dict.fromkeys(names, "")) if names else provider  # type: ignore[type-var]


def _described(model: object) -> JsonObject:
    return {"name": _name(model), "model": str(getattr(model, "model", ""))}


def _names(record: JsonObject) -> tuple[str, str]:
    return str(record.get("name")), str(record.get("model"))


def _log_of(model: object) -> UsageLog | None:
    return getattr(model, "usage_log", None)


def _price_of(model: object) -> Price:
    price: Price = getattr(model, "price", lambda _: None)
    return price


def _restore_log(log: UsageLog, records: Sequence[JsonObject]) -> None:
    calls = [call for record in records if (call := _response_from_json(record)) is not None]
    log.restore(map(_change_from_json, records), calls)


def _removed_usage(records: Sequence[JsonObject]) -> _Usage:
    """Return the usage of a model that is no longer used; its prices are in the records."""
    log = UsageLog()
    _restore_log(log, records)
    named: JsonObject = dict(zip(("name", "model"), _names(records[0]), strict=True))
    responses = [record for record in records if "response" in record]
    changes = [record for record in records if "response" not in record]
    usage = {**log.usage(lambda _: None), "cost": total_usage(responses)["cost"]}
    spent = {**log.spent(lambda _: None), "cost": total_spent(changes)["cost"]}
    return _Usage({**named, **usage}, {**named, **spent, "replayed_cost": 0.0})


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


def _change_from_json(record: JsonObject) -> SpentChange:
    """Return a change of the cost; a response is no change."""

    def count(name: str) -> int:
        value = record.get(name)
        return value if isinstance(value, int) else 0

    return SpentChange(
        requests=count("requests"),
        failed_requests=count("failed_requests"),
        tokens=TokenCount(count("input_tokens"), count("output_tokens")),
        call=str(record.get("call") or ""),
    )


def _response_from_json(record: JsonObject) -> LlmCall | None:
    """Return the call of a response; `None` for anything else."""
    match record.get("response"):
        case {
            "id": str(identity),
            "model": str(model),
            "input_tokens": int(sent),
            "output_tokens": int(received),
            "measured": bool(measured),
            "seconds": float() | int() | None as seconds,
        }:
            return LlmCall(identity, model, sent, received, measured, seconds)
        case _:
            return None


def _name(provider: object) -> str:
    return str(getattr(type(provider), "name", type(provider).__qualname__))
