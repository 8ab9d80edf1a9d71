"""Compile rules into a plan that compares any number of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import orjson

from fieldmark.align.sequence import SEQUENCE, Auto
from fieldmark.compare.exact import Exact
from fieldmark.model.alignment import Aligner
from fieldmark.model.case import UnparsedDocuments
from fieldmark.model.comparison import Comparison
from fieldmark.model.json import MISSING, JsonValue, Missing
from fieldmark.model.kernel import COMPILED, kernel, parsed, unparsed
from fieldmark.model.outcome import Outcome, Presence, Reason, fact
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.model.rule import Depth, Rule, Rules, Scope
from fieldmark.plan.attribute_node import AttributeNode, NodeMode, PlanSettings
from fieldmark.plan.kernel_walk import KernelWalk
from fieldmark.plan.rule_matching import RuleMatch, list_items
from fieldmark.plan.walk import Walk
from fieldmark.values.json_text import all_finite
from fieldmark.values.paths import (
    ROOT,
    Path,
    PathError,
    configured_attribute,
    obstacle,
    parse_path,
    resolve,
    without,
)
from fieldmark.values.presence import presence_of

if TYPE_CHECKING:
    from fieldmark.model.kernel._kernel import Document


_INVALID_PATH_FACT: Final = fact(Outcome.OMISSION, Presence.ABSENT, Presence.ABSENT)
"""A configured field with an invalid path is missing, whatever the documents contain."""


class Plan:
    """Compares documents under one set of rules.

    `table` numbers the attributes in the order of their first occurrence, so a plan belongs to
    one run at a time.
    """

    __slots__ = (
        "_invalid_paths",
        "_kernel",
        "_lookups",
        "_root",
        "_scope",
        "_takes_unparsed",
        "_walk",
        "_whole_document",
        "rules",
        "table",
    )

    def __init__(self, rules: Rules, table: AttributeTable | None = None) -> None:
        scope = rules.scope or Scope.UNION
        self.rules = rules
        self.table = AttributeTable() if table is None else table
        settings = PlanSettings(
            scope=scope,
            depth=rules.depth or Depth.LEAF,
            default=rules.default or Exact(),
            aligner=rules.aligner or Auto(),
            table=self.table,
            text_is_value=not rules.empty_tokens,
        )
        presence = presence_of(
            rules.empty_tokens, containers=rules.empty_containers, blanks=rules.empty_blanks
        )
        self._walk = Walk(presence, scope)
        self._scope = scope
        self._kernel: KernelWalk | None = None
        self._lookups: list[_Lookup] = []
        self._invalid_paths: list[AttributeNode] = []
        matches: list[RuleMatch] = []
        invalid: list[Rule] = []
        for rank, rule in enumerate(rules.fields):
            try:
                matches.append(RuleMatch(rank, rule, parse_path(rule.path).segments))
            except PathError:
                invalid.append(rule)
        configured = scope is Scope.CONFIGURED
        # A field with an index is looked up by its path and taken out of the list.
        lookups = [
            match
            for match in matches
            if match.exact and match.is_field and (configured or match.has_index)
        ]
        for match in lookups:
            path = parse_path(match.rule.path)
            complete = match._replace(used=len(match.segments))
            node = AttributeNode(settings, [complete], configured_attribute(path), addressed=True)
            self._lookups.append(_Lookup(path, node))
        self._walk.sparse = any(match.has_index for match in lookups)
        if configured:
            nodes = [
                AttributeNode(settings, [RuleMatch(0, rule, ())], rule.path, addressed=True)
                for rule in invalid
            ]
            self._invalid_paths = [node for node in nodes if not node.ignored]
            matches += list_items(matches)
        all_looked_up = configured and len(lookups) == len(matches)
        matches = [match for match in matches if not (match in lookups and match.has_index)]
        below_root = [match for match in matches if match.rule.path != ROOT]
        self._root: AttributeNode | None = AttributeNode(settings, below_root)
        # Rules for `$` apply to documents that are not objects.
        self._whole_document = AttributeNode(
            settings, [m._replace(segments=()) if m.rule.path == ROOT else m for m in matches]
        )
        if self._whole_document.mode is NodeMode.ENTRIES:
            self._root = self._whole_document  # the document itself is a map
        if all_looked_up:
            self._root = None
        walked = self._root is not None and self._root.walks
        self._takes_unparsed = COMPILED and walked and not (self._lookups or self._invalid_paths)

    def lists(self) -> Mapping[str, Aligner]:
        """Return the aligner of every list seen so far, by path."""
        roots = [] if self._root is None else [self._root, self._whole_document]
        return {path: aligner for root in roots for path, aligner in root.lists()}

    def add_list(self, path: str, expected: JsonValue) -> None:
        """Add a list of an expected document to the known lists, by the path of its items."""
        segments = parse_path(path).segments
        root = self._root if isinstance(segments[0], str) else self._whole_document
        if root is not None:
            root.add_list(segments, [expected])

    def root_of(self, document: JsonValue | Missing) -> AttributeNode:
        """Return the node of a whole document."""
        is_object = document.__class__ is dict and self._root is not None
        return cast(AttributeNode, self._root) if is_object else self._whole_document

    def compare(self, expected: JsonValue, candidate: JsonValue | Missing) -> Outcomes:
        """Compare one pair of documents."""
        return self.compare_all([(expected, candidate)])[0]

    def compare_all(self, pairs: Iterable[UnparsedDocuments]) -> list[Outcomes]:
        """Compare pairs of documents; batch comparators are called once for all of them."""
        if self._takes_unparsed:
            if self._kernel is None:
                rules, root = self.rules, self._root
                assert root is not None  # noqa: S101 - else the plan takes no unparsed documents
                plain = rules.empty_blanks and not (rules.empty_tokens or rules.empty_containers)
                self._kernel = KernelWalk(self._walk, root, plain_presence=plain)
            results = self._kernel.compare(list(pairs), self._compare_other)
        else:
            results = [self._compare_parsed(pair) for pair in pairs]
        self._walk.resolve_deferred()
        return results

    def discard_deferred(self) -> None:
        """Drop the deferred comparisons that are left after an exception."""
        self._walk.discard_deferred()

    def _compare_other(self, pair: UnparsedDocuments) -> Outcomes:
        """Compare a pair that is not unparsed, with the kernel if it can read both documents."""
        read = _for_kernel(pair[0]), _for_kernel(pair[1])
        if self._kernel is None or read[0] is None or read[1] is None:
            return self._compare_parsed(pair)
        documents = cast("UnparsedDocuments", read)
        return self._kernel.compare([documents], lambda _: self._compare_parsed(pair))[0]

    def _compare_parsed(self, pair: UnparsedDocuments) -> Outcomes:
        expected, candidate = cast("JsonValue", parsed(pair[0])), parsed(pair[1])
        outcomes = Outcomes()
        if self._lookups:
            expected, candidate = self._look_up(expected, candidate, outcomes)
        for node in self._invalid_paths:
            outcomes.comparisons[len(outcomes.cells)] = Comparison.differs(Reason.INVALID_PATH)
            outcomes.cells.append(node.register() | _INVALID_PATH_FACT)
        if self._root is not None:
            root = self.root_of(expected)
            # An empty object is a document without fields.
            before = MISSING if expected == {} else expected
            after = MISSING if candidate == {} else candidate
            if before is not MISSING or after is not MISSING:
                self._walk.compare(root, before, after, outcomes)
        return outcomes

    def _look_up(
        self, expected: JsonValue, candidate: JsonValue | Missing, outcomes: Outcomes
    ) -> tuple[JsonValue, JsonValue | Missing]:
        """Compare the fields that their paths find; return the values that remain to be walked."""
        fields = [
            (lookup, _find(expected, lookup.path), _find(candidate, lookup.path))
            for lookup in self._lookups
        ]
        for (path, node), value, other in fields:
            if self._scope is not Scope.CONFIGURED and value is MISSING and other is MISSING:
                continue
            start = len(outcomes.cells)
            self._walk.compare(node, value, other, outcomes)
            if other is MISSING and value is not MISSING:
                self._walk.explain(outcomes, start, obstacle(candidate, path))
        if self._root is None or not self._walk.sparse:
            return expected, candidate
        remaining: JsonValue | Missing = expected
        for path in (lookup.path for lookup in self._lookups if lookup.path.has_index):
            remaining, candidate = without(remaining, path), without(candidate, path)
        return {} if remaining is MISSING else remaining, candidate


class _Lookup(NamedTuple):
    """A configured field that is found by its path."""

    path: Path
    node: AttributeNode


def add_lists(known: dict[str, Aligner], lists: Mapping[str, Aligner]) -> None:
    """Add lists that were seen elsewhere; a list that kept its order anywhere stays such a list."""
    for path, aligner in lists.items():
        if known.get(path) != SEQUENCE:
            known[path] = aligner


def compile_plan(rules: Rules, table: AttributeTable | None = None) -> Plan:
    """Return a plan for the rules, with its own attribute table or the table of another plan."""
    return Plan(rules, table)


def _for_kernel(document: JsonValue | Missing | Document) -> Document | Missing | None:
    """Return a document as the kernel reads it; `None` if it cannot."""
    if not isinstance(document, dict):
        return MISSING if document is MISSING else unparsed(document)
    try:
        text = orjson.dumps(document)
    except TypeError:  # a number, string or depth that orjson does not support
        return None
    # NaN is written as null.
    return None if b"null" in text and not all_finite(document) else kernel.document(text)


def _find(document: JsonValue | Missing, path: Path) -> JsonValue | Missing:
    return MISSING if document is MISSING else resolve(document, path)
