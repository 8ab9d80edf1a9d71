"""Combine the predictions of several models by majority vote, and find where they disagree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from math import comb, fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple, TypeAlias

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.rank import (
    CandidatesLike,
    RankResult,
    check_files,
    named_candidates,
    named_together,
    rank,
)
from fieldmark.analyses.run_result import RunResult
from fieldmark.analyses.score import score_with
from fieldmark.compare.wrappers import AnyOf
from fieldmark.data.inputs import InputLike, Inputs, Pairing
from fieldmark.data.pairing import PairStream, open_pairs, open_truth
from fieldmark.errors import ConfigError
from fieldmark.metrics.leaderboard import Pair
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.model.rule import Depth, Rules, Scope
from fieldmark.plan.attribute_node import AttributeNode, NodeMode
from fieldmark.plan.plan import Plan
from fieldmark.report.document import (
    Block,
    Column,
    Data,
    Document,
    Format,
    Heading,
    Items,
    Line,
    Table,
    warning,
)
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import number
from fieldmark.runs.case_result import FieldResult
from fieldmark.runs.error_boundary import safe_rules
from fieldmark.runs.regions import with_reader_rules
from fieldmark.runs.resume import run_directories
from fieldmark.runs.run_options import (
    InputsLike,
    RunOptions,
    complete_options,
    read_inputs,
    with_yaml,
)
from fieldmark.runs.settings import RulesLike, resolve_settings
from fieldmark.values.equality import canonical_text, equal
from fieldmark.values.json_text import strict_json
from fieldmark.values.paths import ROOT, join, nested_document
from fieldmark.values.presence import PresenceRule, presence_of
from fieldmark.values.records import to_json
from fieldmark.values.text import plural, shorten

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
    agree. In a tie, the document that agrees most with all other documents decides, then the
    canonical order of documents: the result does not depend on their order. Comparators that need a
    provider are not called; values of such fields agree if they are equal.
    """

    __slots__ = ("_plan", "_presence")

    def __init__(self, rules: Rules) -> None:
        self._plan = Plan(replace(rules, scope=Scope.UNION, depth=Depth.LEAF))
        self._presence = presence_of(
            rules.empty_tokens, containers=rules.empty_containers, blanks=rules.empty_blanks
        )

    def combine(self, documents: Sequence[JsonValue]) -> CaseConsensus:
        """Return the consensus of at least one document; voters are positions in `documents`."""
        order = sorted(range(len(documents)), key=lambda index: canonical_text(documents[index]))
        ordered: list[_Side] = [documents[index] for index in order]
        standing = [0.0] * len(ordered)
        document, votes = self._ballot(ordered, standing)
        if any(vote.tie for vote in votes):
            for side in range(len(ordered)):
                shares = [
                    (len(option.voters) - 1) / max(1, len(ordered) - 1)
                    for vote in votes
                    for option in vote.options
                    if side in option.voters
                ]
                standing[side] = fsum(shares) / max(1, len(shares))
            document, votes = self._ballot(ordered, standing)
        fields = [
            vote._replace(
                options=tuple(
                    VoteOption(value, tuple(sorted(order[voter] for voter in voters)))
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
        objects = all(isinstance(document, dict) for document in documents)
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
        chosen = max(
            leading, key=lambda option: max(self._standing[voter] for voter in option.voters)
        )
        kind = _container(node, chosen.value)
        if kind is not None:
            tie = len(leading) > 1
            if kind is dict:
                return self.object(node, values, chosen.voters, path, named=named, tie=tie)
            return self._list(node, values, chosen.voters, path, named=named, tie=tie)
        if not node.ignored and node.mode is not NodeMode.SKIP:
            # Documents that lack the parent have no value here.
            outside = tuple(side for side in range(len(values)) if side not in voters)
            shown = [*options]
            if outside:
                empty = [option for option in shown if self._is_empty(option.value)]
                joined = (*empty[0].voters, *outside) if empty else outside
                shown = [option for option in shown if option not in empty]
                shown.append(VoteOption(empty[0].value if empty else MISSING, joined))
            shown.sort(key=lambda option: -len(option.voters))
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
        fields = [value if side in voters else None for side, value in enumerate(values)]
        keys = dict.fromkeys(
            chain.from_iterable(field for field in fields if isinstance(field, dict))
        )
        combined: JsonObject = {}
        before = len(self.votes)
        for key in keys:
            sides = [
                field.get(key, MISSING) if isinstance(field, dict) else MISSING for field in fields
            ]
            value = self.vote(node.child(key), sides, voters, join(path, key), named=named)
            if value is not MISSING:
                combined[key] = value
        self._mark_ties(before, tie=tie)
        return combined

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
        lists = {voter: value for voter in voters if isinstance(value := values[voter], list)}
        longest = sorted(lists, key=lambda voter: -len(lists[voter]))
        slots: list[dict[int, JsonValue]] = [{longest[0]: item} for item in lists[longest[0]]]
        for voter in longest[1:]:
            items = lists[voter]
            alignment = node.align([next(iter(slot.values())) for slot in slots], items)
            if alignment.failed is not None:  # too many items
                pairs = [(index, index) for index in range(min(len(slots), len(items)))]
                unpaired: Sequence[int] = range(len(pairs), len(items))
            else:
                pairs = [(index, item) for index, item, *_ in alignment.pairs]
                unpaired = alignment.unmatched_candidate
            for index, item in pairs:
                slots[index][voter] = items[item]
            slots += ({voter: items[item]} for item in unpaired)
        combined: list[JsonValue] = []
        before = len(self.votes)
        for slot in slots:
            item_node = node.item(len(combined))
            sides = [slot.get(voter, MISSING) for voter in range(len(values))]
            start = len(self.votes)
            value = self.vote(item_node, sides, voters, f"{path}[{len(combined)}]", named=named)
            if value is not MISSING:
                combined.append(value)
            else:
                self.votes[start:] = [
                    vote._replace(path=vote.attribute) for vote in self.votes[start:]
                ]
        self._mark_ties(before, tie=tie)
        return combined

    def _mark_ties(self, start: int, *, tie: bool) -> None:
        """Mark the fields of a container that only a tie has decided for."""
        if tie:
            self.votes[start:] = [
                vote._replace(tie=len(vote.options) > 1) for vote in self.votes[start:]
            ]

    def _options(
        self, node: AttributeNode, values: Sequence[_Side], voters: _Voters
    ) -> list[VoteOption]:
        """Return the values of the voters, grouped by agreement."""
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
        options = [VoteOption(values[voters[0]], tuple(voters)) for voters in containers.values()]
        ranked = sorted(leaves, key=lambda text: (-len(leaves[text]), text))
        clusters: list[tuple[JsonValue, list[int]]] = []
        for text in ranked:
            leaf = leaves[text]
            value = values[leaf[0]]
            if value is MISSING:
                continue
            for representative, members in clusters:
                if _agree(node, representative, value):
                    members.extend(leaf)
                    break
            else:
                clusters.append((value, [*leaf]))
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


def _agree(node: AttributeNode, first: JsonValue, second: JsonValue) -> bool:
    """Whether two values agree: they are equal, or match under the rule of the field."""
    if equal(first, second):
        return True
    comparator = node.comparator
    if node.ignored or node.batch_comparator is not None or isinstance(comparator, AnyOf):
        return False
    return comparator.compare(first, second).matched


MAJORITY: Final = "majority vote"
BEST_OF: Final = "best of each field"
"""The names of the two combinations in the ranking."""

_LISTED: Final = 1_000
"""The number of fields that are listed for labeling."""


_ATTRIBUTES: Final = (
    Column("Attribute", "attribute"),
    Column("Agreement", "agreement", Format.NUMBER),
    Column("Fields", "fields", Format.COUNT),
    Column("Disputed", "disputed", Format.COUNT),
    Column("Ties", "ties", Format.COUNT),
)
_LONGEST: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldOption:
    """A value of a field, if it has one, and the names of the candidates that agree on it."""

    value: JsonValue | Missing
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisputedField:
    """A field with different values in candidates, the most frequent value first.

    `agreement` is the share of pairs of candidates that agree. In a `tie`, several values are the
    most frequent.
    """

    case_id: str
    path: str
    attribute: str
    agreement: float
    tie: bool
    options: tuple[FieldOption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeAgreement:
    """How well candidates agree on an attribute: the mean over its fields, and the disputed."""

    agreement: float | None
    fields: int
    disputed: int
    ties: int


@dataclass(frozen=True, kw_only=True, repr=False)
class ConsensusResult(ShownRecord):
    """The majority vote of several predictions for each case, and where they disagree.

    Attributes:
        candidates: The names of the candidates.
        cases: The number of cases.
        without: The number of cases without any prediction that can be read.
        documents: The documents of the vote by id, or by position unless rows are paired `by_id`.
        by_id: Whether rows are paired by id.
        total: The agreement over all fields.
        attributes: The agreement by attribute.
        disputed: The fields with most disagreement between candidates, at most 1,000.
        abstained: For each candidate, the number of cases without a prediction that can be read.
        pairs: The agreement of each pair of candidates.
        ranking: With ground truth: the candidates, the vote, and the best of the candidates per
            field.
        notes: Remarks on the inputs.
    """

    candidates: tuple[str, ...]
    cases: int
    without: int
    documents: Mapping[str, JsonValue]
    by_id: bool
    total: AttributeAgreement
    attributes: Mapping[str, AttributeAgreement]
    disputed: tuple[DisputedField, ...]
    abstained: Mapping[str, int]
    pairs: Mapping[Pair, float | None]
    ranking: RankResult | None = None
    notes: tuple[str, ...] = ()

    @property
    def agreement(self) -> float | None:
        """The mean agreement over all fields; undefined for one candidate."""
        return self.total.agreement

    def to_dict(self) -> JsonObject:
        """Return everything but the documents as JSON."""
        return {
            "format": 1,
            "candidates": list(self.candidates),
            "cases": self.cases,
            "without_prediction": self.without,
            "abstained": dict(self.abstained),
            **to_json(self.total),
            "pairs": [
                {
                    "first": self.candidates[first],
                    "second": self.candidates[second],
                    "agreement": share,
                }
                for (first, second), share in self.pairs.items()
            ],
            "attributes": {path: to_json(counts) for path, counts in self.attributes.items()},
            "label_first": [to_json(field) for field in self.disputed],
            "ranking": None if self.ranking is None else self.ranking.to_dict(),
            "notes": list(self.notes),
        }

    def rows(self) -> list[JsonObject]:
        """Return the documents of the vote as rows of predictions."""
        return [
            {"id": name, "candidate": document} if self.by_id else {"candidate": document}
            for name, document in self.documents.items()
        ]

    def to_jsonl(self) -> bytes:
        """Return the documents of the vote as JSON Lines, which other commands read."""
        return b"".join(strict_json(row) + b"\n" for row in self.rows())

    def save(self, path: str | Path) -> None:
        """Write the documents of the vote as JSON Lines."""
        Path(path).write_bytes(self.to_jsonl())

    def document(self, *, top: int | None = 10) -> Document:
        """Return the agreement by attribute, the fields to label first, and the ranking."""
        total = self.total
        headline = (
            f"{plural(len(self.candidates), 'candidate')}, {plural(self.cases, 'case')}: "
            f"agreement {number(total.agreement)}, {total.disputed:,} of "
            f"{plural(total.fields, 'field')} disputed, {plural(total.ties, 'tie')}"
        )
        remarks = [
            f"{name} has no readable prediction for {plural(count, 'case')}"
            for name, count in self.abstained.items()
        ]
        if self.without:
            remarks.append(f"no candidate has a prediction for {plural(self.without, 'case')}")
        listed = self.disputed[:top]
        label_first: list[Block] = [
            Heading("Label first:"),
            Items(
                lines=[Line(f"{field.case_id}  {_field_text(field)}") for field in listed],
                more=total.disputed - len(listed),
                noun="field",
            ),
        ]
        ranking = () if self.ranking is None else self.ranking.document(top=0).blocks
        return Document(
            *map(warning, self.notes),
            Heading(headline),
            *map(Line, remarks),
            Table(
                name="attributes",
                columns=_ATTRIBUTES,
                rows=[
                    {"attribute": path, **to_json(agreement)}
                    for path, agreement in self.attributes.items()
                    if agreement.disputed
                ],
                top=top,
                noun="attribute",
            ),
            *(label_first if self.disputed else ()),
            *ranking,
            data=Data(
                ("case_id", "path", "attribute", "agreement", "tie", "value", "candidates"),
                [
                    {
                        **to_json(field),
                        "value": option.value,
                        "candidates": ", ".join(option.candidates),
                    }
                    for field in self.disputed
                    for option in field.options
                ],
            ),
        )


@checked
def consensus(
    candidates: CandidatesLike,
    *,
    truth: InputLike | None = None,
    rules: RulesLike = None,
    convention: str | None = None,
    match: str | None = None,
    align: str | None = None,
    inputs: InputsLike = None,
    metric: str | None = None,
    allow_code: bool = False,
    seed: int = 0,
) -> ConsensusResult:
    """Combine predictions by majority vote per field, and list the fields that differ.

    Items of lists are aligned, and values agree as the rules say.

    Args:
        candidates: Predictions by name, or files.
        truth: Ground truth. The vote and the best candidate of each field are scored like a
            candidate, and all are ranked.
        rules: The rules that decide whether values agree.
        convention: The name of the convention.
        match: The default comparator.
        align: The default aligner.
        inputs: How rows are read.
        metric: The metric to rank by.
        allow_code: Import and run Python functions that rules name.
        seed: The seed of the resamples.

    >>> import fieldmark as fm
    >>> found = fm.consensus({
    ...     "one": [{"id": "a", "total": 5, "vendor": "Acme"}],
    ...     "two": [{"id": "a", "total": 5, "vendor": "Acne"}],
    ...     "three": [{"id": "a", "total": 6, "vendor": "Acme"}],
    ... })
    >>> found.rows()
    [{'id': 'a', 'candidate': {'total': 5, 'vendor': 'Acme'}}]
    >>> [(each.path, round(each.agreement, 2)) for each in found.disputed]
    [('total', 0.33), ('vendor', 0.33)]
    """
    named = {name: with_yaml(candidate) for name, candidate in named_candidates(candidates).items()}
    if not named:
        raise ConfigError.of("at least one candidate is required")
    check_files(truth, named)
    read = read_inputs(inputs)
    options = complete_options(
        truth=truth,
        rules=rules,
        convention=convention,
        match=match,
        align=align,
        inputs=read,
        allow_code=allow_code,
    )
    settings = with_reader_rules(resolve_settings(**options), read)
    vote = MajorityVote(safe_rules(settings.rules))
    votes = _Votes(tuple(named))
    with ExitStack() as stack:
        streams = [
            stack.enter_context(closing(stream))
            for stream in _streams(with_yaml(truth), named, read)
        ]
        votes.by_id = streams[0].by_id
        for cases in zip(
            *(chain.from_iterable(stream.batches()) for stream in streams), strict=True
        ):
            votes.add(cases, vote)
        notes = dict.fromkeys(chain.from_iterable(stream.structural for stream in streams))
    ranking = None
    if truth is not None:
        ranking = _ranked(options, named, votes.documents, metric=metric, seed=seed)
    return votes.result(ranking, tuple(notes))


def _streams(
    truth: InputLike | None, candidates: Mapping[str, InputLike], inputs: Inputs
) -> list[PairStream]:
    """Open all candidates in the order of the truth, or of the first row of each id."""
    if truth is None:
        ids: dict[str, None] = {}
        rows = 0
        by_id = inputs.pair != Pairing.POSITION
        own_key = replace(inputs, expected_key=inputs.candidate_key, candidate_key=None)
        for candidate in candidates.values():
            with closing(open_truth(candidate, own_key, unique_ids=False)) as stream:
                by_id = by_id and stream.sides[0].has_ids
                candidate_ids = [case.id for case in chain.from_iterable(stream.batches())]
            ids |= dict.fromkeys(candidate_ids)
            rows = max(rows, len(candidate_ids))
        truth = [{"id": name, "expected": {}} for name in ids] if by_id else [{}] * rows
        inputs = replace(inputs, expected_key=None)
        if not by_id and inputs.pair is None:
            # A candidate with fewer rows abstains from the last cases.
            inputs = replace(inputs, pair=Pairing.POSITION)
    return [open_pairs(truth, candidate, inputs) for candidate in candidates.values()]


@dataclass(slots=True)
class _Tally:
    """The agreement on the fields of an attribute."""

    agreements: list[float] = field(default_factory=list)
    fields: int = 0
    disputed: int = 0
    ties: int = 0

    def add(self, vote: FieldVote) -> None:
        """Add one field."""
        self.fields += 1
        self.disputed += len(vote.options) > 1
        self.ties += vote.tie
        if vote.agreement is not None:
            self.agreements.append(vote.agreement)

    @property
    def result(self) -> AttributeAgreement:
        """The agreement so far."""
        number = len(self.agreements)
        return AttributeAgreement(
            agreement=fsum(self.agreements) / number if number else None,
            fields=self.fields,
            disputed=self.disputed,
            ties=self.ties,
        )


@dataclass(slots=True)
class _Votes:
    """The votes on all cases."""

    names: tuple[str, ...]
    cases: int = 0
    without: int = 0
    documents: dict[str, JsonValue] = field(default_factory=dict)
    by_id: bool = True
    total: _Tally = field(default_factory=_Tally)
    attributes: dict[str, _Tally] = field(default_factory=dict)
    disputed: list[tuple[float, int, DisputedField]] = field(default_factory=list)
    abstained: Counter[str] = field(default_factory=Counter)
    pairs: dict[Pair, list[int]] = field(default_factory=dict)

    def add(self, cases: Sequence[Case], vote: MajorityVote) -> None:
        """Add the predictions of one document."""
        self.cases += 1
        present = [
            (index, case.candidate)
            for index, case in enumerate(cases)
            if case.input is CaseInput.OK and case.candidate is not MISSING
        ]
        read = {index for index, _ in present}
        self.abstained.update(name for index, name in enumerate(self.names) if index not in read)
        if not present:
            self.without += 1
            return
        name = cases[0].id
        combined = vote.combine([document for _, document in present])
        self.documents[name] = combined.document
        places = [index for index, _ in present]
        for field_vote in combined.fields:
            self.total.add(field_vote)
            self.attributes.setdefault(field_vote.attribute, _Tally()).add(field_vote)
            self._count_pairs(field_vote, places)
            if len(field_vote.options) > 1 and field_vote.agreement is not None:
                self._list(name, field_vote, places)

    def _count_pairs(self, vote: FieldVote, places: Sequence[int]) -> None:
        option_of = {
            places[voter]: number
            for number, option in enumerate(vote.options)
            for voter in option.voters
        }
        for first, second in combinations(sorted(option_of), 2):
            counts = self.pairs.setdefault((first, second), [0, 0])
            counts[0] += option_of[first] == option_of[second]
            counts[1] += 1

    def _list(self, case: str, vote: FieldVote, places: Sequence[int]) -> None:
        options = tuple(
            FieldOption(
                value=option.value,
                candidates=tuple(self.names[places[voter]] for voter in option.voters),
            )
            for option in vote.options
        )
        agreement = vote.agreement or 0.0
        listed = DisputedField(
            case_id=case,
            path=vote.path,
            attribute=vote.attribute,
            agreement=agreement,
            tie=vote.tie,
            options=options,
        )
        self.disputed.append((agreement, len(self.disputed), listed))
        if len(self.disputed) > 4 * _LISTED:
            self.disputed = sorted(self.disputed, key=lambda field: field[:2])[:_LISTED]

    def result(self, ranking: RankResult | None, notes: tuple[str, ...]) -> ConsensusResult:
        """Return the consensus of all cases."""
        attributes = {path: tally.result for path, tally in self.attributes.items()}
        return ConsensusResult(
            candidates=self.names,
            cases=self.cases,
            without=self.without,
            documents=self.documents,
            by_id=self.by_id,
            total=self.total.result,
            attributes=dict(
                sorted(
                    attributes.items(),
                    key=lambda item: (
                        1.0 if item[1].agreement is None else item[1].agreement,
                        -item[1].disputed,
                        item[0],
                    ),
                )
            ),
            disputed=tuple(
                field for *_, field in sorted(self.disputed, key=lambda field: field[:2])[:_LISTED]
            ),
            abstained={name: self.abstained[name] for name in self.names if self.abstained[name]},
            pairs={
                pair: agreeing / fields if fields else None
                for pair, (agreeing, fields) in sorted(self.pairs.items())
            },
            ranking=ranking,
            notes=notes,
        )


def _ranked(
    options: RunOptions,
    candidates: Mapping[str, InputLike],
    vote: Mapping[str, JsonValue],
    *,
    metric: str | None,
    seed: int,
) -> RankResult:
    """Score the candidates, the vote and the best of each field, and rank them."""
    names = [*candidates, MAJORITY, BEST_OF]
    if len(set(names)) < len(names):
        raise ConfigError.of(f"a candidate cannot be named {MAJORITY!r} or {BEST_OF!r}")
    with TemporaryDirectory(prefix="fieldmark-") as directory:
        places = dict(zip(names, run_directories(directory, names), strict=True))

        def scored(name: str, options: RunOptions) -> RunResult:
            return score_with({**options, "out": places[name], "intervals": False})

        runs = {
            name: scored(name, {**options, "candidate": candidate})
            for name, candidate in candidates.items()
        }
        first = runs[names[0]]
        truth = [{"id": case.id, "expected": case.expected} for case in first.cases]
        # The documents are read already, so the options for reading do not apply.
        run_options: RunOptions = {**options, "truth": truth, "inputs": Inputs()}
        best = dict(_best_documents([runs[name] for name in candidates]))
        for name, documents in ((MAJORITY, vote), (BEST_OF, best)):
            rows = [
                {"id": case_id, "candidate": document} for case_id, document in documents.items()
            ]
            runs[name] = scored(name, {**run_options, "candidate": rows})
        ranking = rank(runs, metric=metric, seed=seed)
        unread = first.summary.cases.invalid_truth
    warnings = [*ranking.warnings]
    if unread:
        warnings.append(f"{plural(unread, 'row')} of ground truth cannot be read")
    return replace(
        ranking,
        runs=tuple(replace(run, path="") for run in ranking.runs),
        warnings=tuple(warnings),
    )


def _best_documents(runs: Sequence[RunResult]) -> Iterator[tuple[str, JsonValue]]:
    """Yield for each case the document that has, for each field, the best of all candidates.

    A field is correct if it is correct in any candidate. If it is correct in none, it is missing
    if it is missing in any. Extra fields come from the candidate that has the fewest.
    """
    for cases in zip(*(run.cases for run in runs), strict=True):
        fields: dict[str, FieldResult] = {}
        extras: dict[str, list[list[tuple[str, JsonValue]]]] = {}
        for index, case in enumerate(cases):
            records = case.outcomes.records(case.attributes)
            for record, result in zip(records, case.fields, strict=True):
                if result.expected_presence == _VALUE:
                    known = fields.get(result.path)
                    if known is None or _PREFERENCE[result.outcome] < _PREFERENCE[known.outcome]:
                        fields[result.path] = result
                elif result.candidate_presence == _VALUE and result.candidate is not MISSING:
                    # Items without a counterpart in the truth come after the others.
                    path = _ITEM.sub(
                        lambda step: f"[{step[1] or _FAR + int(step[2])}]", record.label
                    )
                    lists = extras.setdefault(result.attribute, [[] for _ in runs])
                    lists[index].append((path, result.candidate))
        values = [
            (path, field.candidate)
            for path, field in fields.items()
            if field.candidate is not MISSING
        ]
        values += (value for lists in extras.values() for value in min(lists, key=len))
        yield cases[0].id, nested_document(values)


_VALUE: Final = Presence.VALUE.name.lower()
_ITEM: Final = re.compile(r"\[(\d*)→(\d+)\]")
"""An aligned item in the label of a field; the first index belongs to the truth."""
_FAR: Final = 1_000_000_000
_PREFERENCE: Final = {
    outcome: index
    for index, outcome in enumerate(
        ("match", "ignored", "omission", "wrong_value", "format_error", "error")
    )
}
"""Which outcome of a field is better; a missing value costs less than a wrong one."""


def _field_text(field: DisputedField) -> str:
    """Return a field with its values and who has them."""
    options = []
    for option in field.options:
        text = "nothing"
        if option.value is not MISSING:
            text = shorten(strict_json(option.value).decode("utf-8", "replace"), _LONGEST)
        options.append(f"{text} ({named_together(option.candidates)})")
    return f"{field.path}: {'; '.join(options)}{' (tie)' if field.tie else ''}"
