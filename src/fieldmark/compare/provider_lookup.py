"""Find the providers, judges and functions in rules and evaluators, at any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar, cast

from fieldmark.model.comparison import Provider
from fieldmark.model.rule import Rules

if TYPE_CHECKING:
    from fieldmark.compare.semantic import Semantic, SimilaritySource
    from fieldmark.python_function import PythonFunction


_Configured = TypeVar("_Configured")


def find_providers_and_judges(configured: object) -> tuple[object, ...]:
    """Return each provider, and each judge that records its usage, once.

    >>> from fieldmark.compare.semantic import Semantic
    >>> [provider.name for provider in find_providers_and_judges(Semantic())]
    ['lexical']
    """
    by_id = {id(part): part for part in _parts(configured) if _is_provider_or_judge(part)}
    return tuple(by_id.values())


def find_functions(configured: object) -> tuple[PythonFunction, ...]:
    """Return each Python function of a user once."""
    by_id = {id(part): part for part in _parts(configured) if hasattr(part, "importable")}
    return cast("tuple[PythonFunction, ...]", tuple(by_id.values()))


def with_provider_options(configured: _Configured, options: Mapping[str, object]) -> _Configured:
    """Return rules or evaluators with options set in all providers and judges that have them.

    >>> from fieldmark.compare.semantic import Semantic
    >>> with_provider_options(Semantic(), {"offline": True}) == Semantic()
    True
    """
    usage_logs: dict[int, object] = {}

    def rebuilt(part: object, new: dict[str, object]) -> object:
        names = option_names(part) or ()
        own = _is_provider_or_judge(part)
        if own:
            new |= {name: value for name, value in options.items() if name in names}
        # A provider is copied even if nothing changes, because it counts the usage of one run.
        changed = replace(part, **new) if new or own else part  # type: ignore[type-var]
        if hasattr(changed, "usage_log"):
            # Copies of providers that share a budget share one again.
            log = usage_logs.setdefault(id(part.usage_log), changed.usage_log)  # type: ignore[attr-defined]
            object.__setattr__(changed, "usage_log", log)
        return changed

    return _transformed(configured, rebuilt)


def for_field(comparator: _Configured, path: str, description: str = "") -> _Configured:
    """Return a comparator whose providers know which field they compare, if they can use it."""

    def rebuilt(part: object, new: dict[str, object]) -> object:
        specialize: Callable[[str, str], object] | None = getattr(part, "for_field", None)
        if _is_provider(part) and specialize is not None:
            return specialize(path, description)
        return replace(part, **new) if new else part  # type: ignore[type-var]

    return _transformed(comparator, rebuilt)


def with_memos(
    configured: _Configured, make_memo: Callable[[Provider], SimilaritySource]
) -> _Configured:
    """Return rules or evaluators whose comparators ask equal providers through one memo.

    A local provider needs none.
    """
    memos: list[tuple[Provider, SimilaritySource]] = []

    def memo_of(provider: Provider) -> SimilaritySource:
        for known, memo in memos:
            if known == provider:
                return memo
        memos.append((provider, make_memo(provider)))
        return memos[-1][1]

    def rebuilt(part: object, new: dict[str, object]) -> object:
        changed = replace(part, **new) if new else part  # type: ignore[type-var]
        if not hasattr(changed, "sharing"):
            return changed
        comparator = cast("Semantic", changed)
        local = is_local(comparator.provider)
        return comparator if local else comparator.sharing(memo_of(comparator.provider))

    return _transformed(configured, rebuilt)


def with_sources(
    configured: _Configured, make_source: Callable[[SimilaritySource], SimilaritySource]
) -> _Configured:
    """Return rules or evaluators whose comparators ask other sources; local providers stay."""

    def rebuilt(part: object, new: dict[str, object]) -> object:
        changed = replace(part, **new) if new else part  # type: ignore[type-var]
        if not hasattr(part, "sharing"):
            return changed
        comparator = cast("Semantic", changed)
        if is_local(comparator.provider):
            return comparator
        return comparator.sharing(make_source(cast("Semantic", part).source))

    return _transformed(configured, rebuilt)


def is_local(provider: object) -> bool:
    """Whether a provider has no state and no rate limit, so that any process can use it."""
    return bool(getattr(provider, "local", False))


def is_repeatable(rules: Rules) -> bool:
    """Whether comparing again gives the same outcomes and costs no more than time.

    Models, plug-ins and functions of the caller may answer differently, or cost money.

    >>> from fieldmark.compare.semantic import Semantic
    >>> is_repeatable(Rules(default=Semantic()))
    True
    """
    for part in _parts(rules):
        options = (getattr(part, name) for name in option_names(part) or ())
        own = type(part).__module__.startswith(f"{__name__.partition('.')[0]}.")
        if not own or any(map(callable, options)) or (_is_provider(part) and not is_local(part)):
            return False
    return True


def _transformed(
    configured: _Configured, rebuilt: Callable[[object, dict[str, object]], object]
) -> _Configured:
    """Return rules or evaluators with each part rebuilt, given its options that have changed."""
    done: dict[int, object] = {}

    def change(part: object) -> object:
        """Return the part with its inner parts changed; shared parts stay shared."""
        if type(part) is tuple:
            inner = tuple(map(change, part))
            return part if all(new is old for new, old in zip(inner, part, strict=True)) else inner
        names = option_names(part)
        if names is None:
            return part
        if id(part) not in done:
            inside = {name: change(getattr(part, name)) for name in names}
            new = {
                name: value for name, value in inside.items() if value is not getattr(part, name)
            }
            done[id(part)] = rebuilt(part, new)
        return done[id(part)]

    return cast("_Configured", change(configured))


def _is_provider(part: object) -> bool:
    return callable(getattr(part, "similarities", None)) and hasattr(part, "approximate")


def _is_provider_or_judge(part: object) -> bool:
    return _is_provider(part) or callable(getattr(part, "usage", None))


def option_names(part: object) -> tuple[str, ...] | None:
    """Return the names of the options of a strategy; `None` for a plain value."""
    return _option_names(type(part))  # type: ignore[arg-type]


@lru_cache(maxsize=256)
def _option_names(kind: type) -> tuple[str, ...] | None:
    if not is_dataclass(kind):
        return None
    return tuple(option.name for option in fields(kind) if option.init)


def _parts(configured: object) -> Iterator[object]:
    pending = [configured]
    while pending:
        part = pending.pop()
        names = option_names(part)
        if names is not None:
            yield part
            pending.extend(getattr(part, name) for name in reversed(names))
        elif type(part) is tuple:
            pending.extend(reversed(part))
