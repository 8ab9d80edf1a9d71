"""Match rule paths against the keys and list items of a document, one step at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from fieldmark.compare.exact import Ignore
from fieldmark.model.rule import Rule
from fieldmark.values.paths import ANY_DEPTH, ANY_ITEM, ROOT, PathError, Segment, parse_path

_ANY_INDEX: Final = -1
"""An index that no rule names."""
_INDEX: Final = re.compile(r"(?:0|[1-9][0-9]{0,17})\Z")
"""A key that a number in a rule path may stand for."""


class RuleMatch(NamedTuple):
    """A rule whose first `used` path segments match the path of the current attribute.

    `rank` is the position of the rule in its file.
    """

    rank: int
    rule: Rule
    segments: tuple[Segment, ...]
    used: int = 0

    @property
    def remaining(self) -> tuple[Segment, ...]:
        """The segments that still have to match."""
        return self.segments[self.used :]

    @property
    def complete(self) -> bool:
        """Whether the rule applies to the current attribute itself."""
        return self.remaining in ((), (ANY_DEPTH,))

    @property
    def exact(self) -> bool:
        """Whether the rule path has no wildcard."""
        return ANY_DEPTH not in self.segments and ANY_ITEM not in self.segments

    @property
    def is_field(self) -> bool:
        """Whether the rule is about a field, and not only about the alignment of a list."""
        return self.rule.comparator is not None or self.rule.aligner is None

    @property
    def has_index(self) -> bool:
        """Whether the rule path contains the index of a list item."""
        return any(isinstance(segment, int) for segment in self.segments)

    @property
    def leaves_only(self) -> bool:
        """Whether the rule applies to every leaf below a path, not to the path itself."""
        return self.segments[-1:] == (ANY_DEPTH,)

    @property
    def precedence(self) -> tuple[bool, int]:
        """Sort key: exact paths override patterns, later rules override earlier ones."""
        return self.exact, self.rank

    def advance(self, steps: tuple[Segment, ...], dotted_key: str = "") -> Iterable[RuleMatch]:
        """Yield every state of the rule after one more step of the document path."""
        if self.used == len(self.segments):
            return
        segment = self.segments[self.used]
        if segment is ANY_DEPTH:
            yield self
            yield from self._replace(used=self.used + 1).advance(steps, dotted_key)
        elif segment in steps:
            yield self._replace(used=self.used + 1)
        elif dotted_key:
            text = ""  # several segments may match one key that contains dots
            for used, part in enumerate(self.remaining, start=self.used + 1):
                if not isinstance(part, str):
                    return
                text = f"{text}.{part}" if text else part
                if text == dotted_key:
                    yield self._replace(used=used)
                    return


def list_items(matches: Sequence[RuleMatch]) -> list[RuleMatch]:
    """Return matches for the leaves of lists with only a rule for their alignment.

    If other rules select fields below such a list, only these are its fields.
    """
    return [
        RuleMatch(-1, replace(match.rule, aligner=None), (*match.segments, ANY_DEPTH))
        for match in matches
        if not match.is_field
        and not any(_selects_below(other, match.segments) for other in matches)
    ]


def _selects_below(match: RuleMatch, list_path: tuple[Segment, ...]) -> bool:
    if not match.is_field or isinstance(match.rule.comparator, Ignore):
        return False
    return match.segments[:1] == (ANY_DEPTH,) or (
        len(match.segments) > len(list_path) and match.segments[: len(list_path)] == list_path
    )


def match_key(matches: Sequence[RuleMatch], key: str) -> tuple[RuleMatch, ...]:
    """Return the rules that still match below an object key; a number in a rule may be a key."""
    if not matches:
        return ()
    steps: tuple[Segment, ...] = (key, int(key)) if _INDEX.match(key) else (key,)
    dotted_key = key if "." in key else ""
    return _distinct(step for match in matches for step in match.advance(steps, dotted_key))


def match_item(matches: Sequence[RuleMatch], index: int) -> tuple[RuleMatch, ...]:
    """Return the rules that still match the list item at an index."""
    steps: tuple[Segment, ...] = (ANY_ITEM, index, str(index))
    return _distinct(step for match in matches for step in match.advance(steps))


def rules_of_field(rules: Sequence[Rule], attribute: str, path: str) -> list[RuleMatch]:
    """Return the rules that apply to a field itself, the strongest last.

    >>> rules = [Rule(path="**"), Rule(path="items[].price"), Rule(path="total")]
    >>> [match.rule.path for match in rules_of_field(rules, "items[].price", "items[2].price")]
    ['**', 'items[].price']
    """
    matches: tuple[RuleMatch, ...] = ()
    for rank, rule in enumerate(rules):
        with suppress(PathError):
            matches += (RuleMatch(rank, rule, parse_path(rule.path).segments),)
    if attribute != ROOT:
        steps = zip(parse_path(attribute).segments, parse_path(path).segments, strict=True)
        for step, index in steps:
            if step is ANY_ITEM:
                matches = match_item(matches, index if isinstance(index, int) else _ANY_INDEX)
            else:
                matches = match_key(matches, str(step))
    return sorted(
        (match for match in matches if match.complete), key=lambda match: match.precedence
    )


def _distinct(matches: Iterable[RuleMatch]) -> tuple[RuleMatch, ...]:
    """Return the matches once each; several `**` in a path can match in many ways."""
    return tuple({(id(match.rule), match.used): match for match in matches}.values())
