"""List the strategies that are registered, built-in and from plug-ins."""

from __future__ import annotations

from collections.abc import Iterable

from fieldmark import registry
from fieldmark.api.arguments import checked, strings
from fieldmark.errors import OptionError, with_hint
from fieldmark.registry import Plugin
from fieldmark.values.text import did_you_mean
from fieldmark.wire.plugins import RegisteredPlugin

__all__ = ["plugins"]


@checked
def plugins(kinds: Iterable[str] = (), *, built_in: bool = True) -> list[RegisteredPlugin]:
    """Return what is registered, of all kinds or of those given, with or without built-ins.

    A plug-in that cannot be used has an `error`.

    >>> import fieldmark as fm
    >>> [each.name for each in fm.plugins("aligners")][:3]
    ['index', 'greedy', 'optimal']
    """
    wanted = strings(kinds)
    for kind in wanted:
        if not isinstance(kind, str):
            raise TypeError(f"kinds must be strings, got {type(kind).__name__}")
        if kind not in list(Plugin):
            message = f"unknown kind {kind!r}; must be one of: {', '.join(Plugin)}"
            raise OptionError("kinds", with_hint(message, did_you_mean(kind, Plugin)))
    return [
        RegisteredPlugin(
            kind=each.kind.value,
            name=each.name,
            summary="" if isinstance(found, str) else _summary(found),
            package=each.package,
            version=each.version,
            target=each.target,
            error=found if isinstance(found, str) else "",
        )
        for each, found in registry.registrations()
        if (not wanted or each.kind in wanted) and (built_in or each.package != "fieldmark")
    ]


def _summary(strategy: type) -> str:
    return (strategy.__doc__ or "").strip().partition("\n")[0]
