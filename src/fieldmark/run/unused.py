"""Rules that met nothing: most often a path with a typing error."""

from __future__ import annotations

from collections.abc import Iterable

from fieldmark.metrics.tally import FactsByPath
from fieldmark.model.outcome import FACTS, Presence
from fieldmark.model.rule import Rules
from fieldmark.values.paths import Path, PathError, attribute_of, covers, parse_path
from fieldmark.values.text import nearest

__all__ = ["unused_rules"]


def unused_rules(rules: Rules, facts: FactsByPath) -> list[str]:
    """A warning for each configured path that no document has, with the nearest that some have."""
    seen = [path for path, own in facts.items() if any(_present(fact) for fact in own)]
    parsed = [path for path in map(_parsed, seen) if path is not None]
    return [
        _warning(str(rule.location), path.text, seen)
        for rule in rules.fields
        if (path := _parsed(rule.path)) is not None and not _met(path, parsed)
    ]


def _present(fact: int) -> bool:
    _, expected, candidate = FACTS[fact]
    return expected is not Presence.ABSENT or candidate is not Presence.ABSENT


def _met(path: Path, seen: Iterable[Path]) -> bool:
    """Whether a path, or something below it, was seen."""
    steps = parse_path(attribute_of(path))
    return any(
        covers(steps, Path(there.text, there.segments[:end], there.tails[:end]))
        for there in seen
        for end in range(1, len(there.segments) + 1)
    )


def _warning(where: str, path: str, seen: list[str]) -> str:
    close = nearest(path, seen)
    hint = f" Did you mean {close}?" if close else ""
    return f"{where + ': ' if where else ''}no document has {path}.{hint}"


def _parsed(text: str) -> Path | None:
    try:
        return parse_path(text)
    except PathError:
        return None
