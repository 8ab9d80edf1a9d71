"""The majority vote of several predictions of one document, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import comb, fsum
from typing import Final, NamedTuple, TypeAlias

from fieldmark.compare.any_of import AnyOf
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.model.rule import Depth, Rules, Scope
from fieldmark.plan.attribute_node import AttributeNode, NodeMode
from fieldmark.plan.plan import Plan
from fieldmark.values.canonical import canonical_text
from fieldmark.values.equality import equal
from fieldmark.values.paths import ROOT, join
from fieldmark.values.presence import PresenceRule, presence_of

_Side: TypeAlias = "JsonValue | Missing"
_Voters: TypeAlias = tuple[int, ...]
_WALKED: Final = frozenset({NodeMode.WALK, NodeMode.ENTRIES})


class VoteOption(NamedTuple):
    """A value of a field, and the documents that have it; `MISSING` if they have none."""

    value: _Side
    voters: _Voters


class FieldVote(NamedTuple):
    """The values of one field, most frequent first; a `tie` if several are the most frequent.

    A field of an item that is not in the result is named by its attribute.
    """

    path: str
    attribute: str
    options: tuple[VoteOption, ...]
    tie: bool

    @property
    def agreement(self) -> float | None:
        """The share of pairs of documents that agree; undefined for one document."""
        sizes = [len(option.voters) for option in self.options]
        pairs = comb(sum(sizes), 2)
        return sum(comb(size, 2) for size in sizes) / pairs if pairs else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseConsensus:
    """The document that most predictions agree on, and the votes on all its fields."""

    document: JsonValue
    fields: tuple[FieldVote, ...]


class MajorityVote:
    """Combines the predictions of one document under rules.

    Each field gets the value that most documents have, where values agree if they are equal or
    their comparator matches them. Items of lists are aligned first. Absent, null and blank values
    agree. In a tie, the document that agrees most with the others decides, then the canonical order
    of documents: the result does not depend on their order. Comparators that need a provider are
    not called; values of such fields agree if they are equal.
    """

    __slots__ = ("_plan", "_presence")

    def __init__(self, rules: Rules) -> None:
        self._plan = Plan(replace(rules, scope=Scope.UNION, depth=Depth.LEAF))
        self._presence = presence_of(
            rules.empty_tokens, containers=rules.empty_containers, blanks=rules.empty_blanks
        )

    def combine(self, documents: Sequence[JsonValue]) -> CaseConsensus:
        """Return the consensus of at least one document; voters are positions in `documents`."""
        order = sorted(range(len(documents)), key=lambda each: canonical_text(documents[each]))
        ordered: list[_Side] = [documents[each] for each in order]
        standing = [0.0] * len(ordered)
        document, votes = self._ballot(ordered, standing)
        if any(vote.tie for vote in votes):
            for place in range(len(ordered)):
                shares = [
                    (len(option.voters) - 1) / max(1, len(ordered) - 1)
                    for vote in votes
                    for option in vote.options
                    if place in option.voters
                ]
                standing[place] = fsum(shares) / max(1, len(shares))
            document, votes = self._ballot(ordered, standing)
        fields = [
            vote._replace(
                options=tuple(
                    VoteOption(value, tuple(sorted(order[each] for each in voters)))
                    for value, voters in vote.options
                )
            )
            for vote in votes
        ]
        return CaseConsensus(document=document, fields=tuple(fields))

    def _ballot(
        self, documents: list[_Side], standing: list[float]
    ) -> tuple[JsonValue, list[FieldVote]]:
        """Return the result with ties decided by the standing of documents, and all votes."""
        ballot = _Ballot(self._presence, standing)
        objects = all(isinstance(each, dict) for each in documents)
        root = self._plan.root_of({} if objects else documents[0])
        everyone = tuple(range(len(documents)))
        if objects:
            document: _Side = ballot.object(root, documents, everyone, "", named=True)
        else:
            document = ballot.vote(root, documents, everyone, "", named=True)
        return None if document is MISSING else document, ballot.votes


class _Ballot:
    """Walks several documents at once and records the votes."""

    def __init__(self, presence: PresenceRule, standing: list[float]) -> None:
        self.votes: list[FieldVote] = []
        self._presence = presence
        self._standing = standing

    def vote(
        self,
        node: AttributeNode,
        values: Sequence[_Side],
        voters: _Voters,
        path: str,
        *,
        named: bool,
    ) -> _Side:
        """Return the value that most voters have; other documents only count as disagreeing.

        Objects and lists are options of their own: if most voters have one, its fields are voted on
        by them. `named` is false in an item that is not in the result.
        """
        options = self._options(node, values, voters)
        most = max(len(option.voters) for option in options)
        leading = [option for option in options if len(option.voters) == most]
        chosen = max(leading, key=lambda each: max(self._standing[voter] for voter in each.voters))
        kind = _container(node, chosen.value)
        if kind is not None:
            tie = len(leading) > 1
            if kind is dict:
                return self.object(node, values, chosen.voters, path, named=named, tie=tie)
            return self._list(node, values, chosen.voters, path, named=named, tie=tie)
        if not node.ignored and node.mode is not NodeMode.SKIP:
            # Documents that lack the parent have no value here.
            outside = tuple(each for each in range(len(values)) if each not in voters)
            shown = [*options]
            if outside:
                empty = [each for each in shown if self._is_empty(each.value)]
                joined = (*empty[0].voters, *outside) if empty else outside
                shown = [each for each in shown if each not in empty]
                shown.append(VoteOption(empty[0].value if empty else MISSING, joined))
            shown.sort(key=lambda each: -len(each.voters))
            label = (path or ROOT) if named else node.path
            self.votes.append(FieldVote(label, node.path, tuple(shown), len(leading) > 1))
        return chosen.value

    def object(
        self,
        node: AttributeNode,
        values: Sequence[_Side],
        voters: _Voters,
        path: str,
        *,
        named: bool,
        tie: bool = False,
    ) -> JsonObject:
        """Return an object with the keys that most voters have."""
        fields = [value if place in voters else None for place, value in enumerate(values)]
        keys = dict.fromkeys(chain.from_iterable(each for each in fields if isinstance(each, dict)))
        found: JsonObject = {}
        before = len(self.votes)
        for key in keys:
            sides = [
                each.get(key, MISSING) if isinstance(each, dict) else MISSING for each in fields
            ]
            value = self.vote(node.child(key), sides, voters, join(path, key), named=named)
            if value is not MISSING:
                found[key] = value
        self._mark_ties(before, tie=tie)
        return found

    def _list(
        self,
        node: AttributeNode,
        values: Sequence[_Side],
        voters: _Voters,
        path: str,
        *,
        named: bool,
        tie: bool,
    ) -> list[JsonValue]:
        """Return the items that most voters have, in the order of the longest list."""
        lists = {each: value for each in voters if isinstance(value := values[each], list)}
        longest = sorted(lists, key=lambda each: -len(lists[each]))
        slots: list[dict[int, JsonValue]] = [{longest[0]: item} for item in lists[longest[0]]]
        for voter in longest[1:]:
            items = lists[voter]
            alignment = node.align([next(iter(slot.values())) for slot in slots], items)
            if alignment.failed is not None:  # too many items
                pairs = [(place, place) for place in range(min(len(slots), len(items)))]
                rest: Sequence[int] = range(len(pairs), len(items))
            else:
                pairs = [(place, other) for place, other, *_ in alignment.pairs]
                rest = alignment.unmatched_candidate
            for place, other in pairs:
                slots[place][voter] = items[other]
            slots += ({voter: items[other]} for other in rest)
        found: list[JsonValue] = []
        before = len(self.votes)
        for slot in slots:
            item_node = node.item(len(found))
            sides = [slot.get(each, MISSING) for each in range(len(values))]
            start = len(self.votes)
            value = self.vote(item_node, sides, voters, f"{path}[{len(found)}]", named=named)
            if value is not MISSING:
                found.append(value)
            else:
                self.votes[start:] = [
                    each._replace(path=each.attribute) for each in self.votes[start:]
                ]
        self._mark_ties(before, tie=tie)
        return found

    def _mark_ties(self, start: int, *, tie: bool) -> None:
        """Mark the fields of a container that only a tie has decided for."""
        if tie:
            self.votes[start:] = [
                each._replace(tie=len(each.options) > 1) for each in self.votes[start:]
            ]

    def _options(
        self, node: AttributeNode, values: Sequence[_Side], voters: _Voters
    ) -> list[VoteOption]:
        """Return the values that voters have, those that agree together."""
        empty: list[int] = []
        containers: dict[type, list[int]] = {}
        leaves: dict[bytes, list[int]] = {}
        for voter in voters:
            value = values[voter]
            kind = _container(node, value)
            if kind is not None:
                containers.setdefault(kind, []).append(voter)
            elif value is MISSING or self._is_empty(value):
                empty.append(voter)
            else:
                leaves.setdefault(canonical_text(value), []).append(voter)
        options = [VoteOption(values[each[0]], tuple(each)) for each in containers.values()]
        ranked = sorted(leaves, key=lambda text: (-len(leaves[text]), text))
        clusters: list[tuple[JsonValue, list[int]]] = []
        for text in ranked:
            own = leaves[text]
            value = values[own[0]]
            if value is MISSING:
                continue
            for representative, members in clusters:
                if _agree(node, representative, value):
                    members.extend(own)
                    break
            else:
                clusters.append((value, [*own]))
        options += (VoteOption(value, tuple(sorted(members))) for value, members in clusters)
        if empty:  # the last, so that a value wins a tie that nothing else decides
            forms: dict[bytes, list[int]] = {}
            for voter in empty:
                value = values[voter]
                form = b"" if value is MISSING else canonical_text(value)
                forms.setdefault(form, []).append(voter)
            frequent = max(sorted(forms, reverse=True), key=lambda form: len(forms[form]))
            options.append(VoteOption(values[forms[frequent][0]], tuple(empty)))
        return options

    def _is_empty(self, value: _Side) -> bool:
        return self._presence(value) is not Presence.VALUE


def _container(node: AttributeNode, value: _Side) -> type | None:
    """Return the type of a container whose parts are fields, or `None`."""
    if node.mode in _WALKED and value and isinstance(value, dict | list):
        return type(value) if type(value) in node.container_types else None
    return None


def _agree(node: AttributeNode, one: JsonValue, other: JsonValue) -> bool:
    """Whether two values agree: they are equal, or match under the rule of the field."""
    if equal(one, other):
        return True
    comparator = node.comparator
    if node.ignored or node.batch_comparator is not None or isinstance(comparator, AnyOf):
        return False
    return comparator.compare(one, other).matched
