"""Rules that met nothing: most often a path with a typing error."""

from __future__ import annotations

from collections.abc import Mapping

from fieldmark.metrics.tally import FactsByPath
from fieldmark.model.outcome import FACTS, Presence
from fieldmark.model.rule import Rules
from fieldmark.values.paths import Path, PathError, Segment, attribute_of, covers, parse_path
from fieldmark.values.text import nearest

__all__ = ["unused_rules"]


def unused_rules(rules: Rules, facts: FactsByPath) -> list[str]:
    """A warning for each configured path that no document has, with the nearest that some have."""
    seen = [path for path, own in facts.items() if any(_present(fact) for fact in own)]
    above = {
        path.segments[:end]: Path(path.text, path.segments[:end], path.tails[:end])
        for path in map(_parsed, seen)
        if path is not None
        for end in range(1, len(path.segments) + 1)
    }
    return [
        _warning(str(rule.location), path.text, seen)
        for rule in rules.fields
        if (path := _parsed(rule.path)) is not None and not _met(path, above)
    ]


def _present(fact: int) -> bool:
    _, expected, candidate = FACTS[fact]
    return expected is not Presence.ABSENT or candidate is not Presence.ABSENT


def _met(path: Path, above: Mapping[tuple[Segment, ...], Path]) -> bool:
    """Whether a path was seen: itself, or another that it stands for."""
    steps = parse_path(attribute_of(path))
    return steps.segments in above or any(covers(steps, there) for there in above.values())


def _warning(where: str, path: str, seen: list[str]) -> str:
    close = nearest(path, seen)
    hint = f" Did you mean {close}?" if close else ""
    return f"{where + ': ' if where else ''}no document has {path}.{hint}"


def _parsed(text: str) -> Path | None:
    try:
        return parse_path(text)
    except PathError:
        return None
