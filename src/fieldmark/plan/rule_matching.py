"""Rules on their way down a document: which of them still apply, and which are about this place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from fieldmark.model.rule import Rule
from fieldmark.values.paths import ANY_DEPTH, ANY_ITEM, Segment

__all__ = ["State", "into_item", "into_key"]


_PLACE: Final = re.compile(r"(?:0|[1-9][0-9]{0,17})\Z")
"""A key that a number in a path stands for."""


class State(NamedTuple):
    """A rule that has matched so far; `used` of its segments are behind us."""

    rank: int
    rule: Rule
    segments: tuple[Segment, ...]
    used: int = 0

    @property
    def complete(self) -> bool:
        """Whether the rule is about this very place."""
        rest = self.segments[self.used :]
        return not rest or rest == (ANY_DEPTH,)

    @property
    def exact(self) -> bool:
        """Whether the rule names one place, without a wildcard."""
        return ANY_DEPTH not in self.segments and ANY_ITEM not in self.segments

    @property
    def leaves_only(self) -> bool:
        """Whether the rule is about every leaf below a place, not about the place itself."""
        return self.segments[-1:] == (ANY_DEPTH,)

    @property
    def precedence(self) -> tuple[bool, int]:
        """Exact paths win over patterns, later rules over earlier ones."""
        return self.exact, self.rank

    def after(self, steps: tuple[Segment, ...], dotted: str = "") -> Iterable[State]:
        """The rule one step further down, in every way in which it can take the step."""
        if self.used == len(self.segments):
            return
        segment = self.segments[self.used]
        if segment is ANY_DEPTH:
            yield self
            yield from self._replace(used=self.used + 1).after(steps, dotted)
        elif segment in steps:
            yield self._replace(used=self.used + 1)
        elif dotted:
            yield from self._spelt_with_dots(dotted)

    def _spelt_with_dots(self, key: str) -> Iterable[State]:
        text = ""
        for number, segment in enumerate(self.segments[self.used :], start=1):
            if not isinstance(segment, str):
                return
            text = f"{text}.{segment}" if text else segment
            if text == key:
                yield self._replace(used=self.used + number)
                return


def into_key(states: Sequence[State], key: str) -> tuple[State, ...]:
    """The rules that still apply below a key; a number in a rule is a key on objects."""
    if not states:
        return ()
    steps: tuple[Segment, ...] = (key, int(key)) if _PLACE.match(key) else (key,)
    dotted = key if "." in key else ""
    return tuple(step for state in states for step in state.after(steps, dotted))


def into_item(states: Sequence[State], place: int) -> tuple[State, ...]:
    """The rules that still apply to the list item at a place."""
    steps: tuple[Segment, ...] = (ANY_ITEM, place, str(place))
    return tuple(step for state in states for step in state.after(steps))
