"""Lists of a data set on which proposed rules are tried: how many of their items do they pair?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from fieldmark.model.alignment import Alignment
from fieldmark.model.json import JsonValue
from fieldmark.model.rule import Rules
from fieldmark.plan.plan import compile_plan
from fieldmark.values.paths import parse_path

_MAX_LISTS: Final = 500
_MAX_PAIRS: Final = 250_000
"""The number of possible pairs, which determines the time that an alignment takes."""


@dataclass(slots=True)
class SampleLists:
    """The first lists of one attribute in which items are paired that are not equal.

    Equal items are paired under any rules, so the other lists need not be tried. `pairs` is the
    number of pairs without rules.
    """

    pairs: int = 0
    _lists: list[tuple[list[JsonValue], list[JsonValue]]] = field(default_factory=list)
    _possible_pairs: int = 0

    def add(
        self, expected: list[JsonValue], candidate: list[JsonValue], alignment: Alignment
    ) -> None:
        """Add two lists and their alignment without rules."""
        possible = self._possible_pairs + len(expected) * len(candidate)
        if len(self._lists) >= _MAX_LISTS or possible > _MAX_PAIRS:
            return
        if any(not are_equal for _, _, _, are_equal in alignment.pairs):
            self.pairs += len(alignment.pairs)
            self._lists.append((expected, candidate))
            self._possible_pairs = possible

    def pairs_under(self, rules: Rules, path: str) -> int:
        """Return the number of pairs under rules, for lists that are at this path."""
        plan = compile_plan(rules)
        segments: Sequence[object] = parse_path(path).segments if path else ()
        node = plan.root_of({} if segments and isinstance(segments[0], str) else [])
        for segment in segments:
            node = node.child(segment) if isinstance(segment, str) else node.entry_node
        return sum(len(node.align(*lists).pairs) for lists in self._lists)
