"""List the strategies that are registered, built-in and from plug-ins."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from fieldmark import registry
from fieldmark.analyses.arguments import checked
from fieldmark.errors import OptionError, with_hint
from fieldmark.model.json import JsonObject
from fieldmark.registry import Plugin
from fieldmark.report.document import Cell, Column, Data, Document, Line, Table, Tone
from fieldmark.report.render import ShownRecord
from fieldmark.runs.run_options import strings
from fieldmark.values.records import to_json
from fieldmark.values.text import did_you_mean, plural


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPlugin:
    """A strategy that is registered by name: where it comes from, and why it cannot be used."""

    kind: str
    name: str
    summary: str
    package: str
    version: str
    target: str
    error: str = ""

    def to_dict(self) -> JsonObject:
        """Return the record as JSON."""
        return to_json(self)


class PluginList(ShownRecord, tuple[RegisteredPlugin, ...]):
    """The registered strategies, in the order of the list."""

    __slots__ = ()

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {"plugins": [plugin.to_dict() for plugin in self]}

    def document(self, *, top: int | None = None) -> Document:
        """Return one row per name, and how many there are."""
        table = Table(
            columns=(
                Column("Kind", "kind"),
                Column("Name", "name"),
                Column("From", "source", folds=True),
                Column("Summary", "summary", folds=True),
            ),
            rows=[
                {
                    "kind": Cell(plugin.kind, tone=tone),
                    "name": Cell(plugin.name, tone=tone),
                    "source": Cell(
                        f"{plugin.package} {plugin.version}".strip() or plugin.target, tone=tone
                    ),
                    "summary": Cell(
                        f"error: {plugin.error}" if plugin.error else plugin.summary, tone=tone
                    ),
                }
                for plugin in self
                for tone in [Tone.BAD if plugin.error else Tone.PLAIN]
            ],
            top=top,
            noun="name",
        )
        built_in = sum(plugin.package == "fieldmark" for plugin in self)
        failed = sum(bool(plugin.error) for plugin in self)
        counts = [f"{built_in} built-in", plural(len(self) - built_in, "plug-in")]
        counts += [f"{failed} cannot be used"] if failed else []
        keys = [field.name for field in fields(RegisteredPlugin)]
        return Document(
            table,
            Line(", ".join(counts), Tone.STRONG),
            data=Data(keys, [plugin.to_dict() for plugin in self]),
        )


@checked
def plugins(kinds: Iterable[str] = (), *, built_in: bool = True) -> PluginList:
    """List the registered strategies: comparators, evaluators, readers and so on.

    A plug-in that cannot be used has an `error`.

    Args:
        kinds: The kinds to list; by default all.
        built_in: Also list built-in strategies.

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
    return PluginList(
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
    )


def _summary(strategy: type) -> str:
    return (strategy.__doc__ or "").strip().partition("\n")[0]
