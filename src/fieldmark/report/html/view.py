"""A run as JSON for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeAlias

from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.mistakes import MistakeCluster, MistakeReader
from fieldmark.metrics.repeated_errors import RepeatedErrors
from fieldmark.metrics.slices import parse_slice_keys
from fieldmark.metrics.summary import field_cost, worst_attributes
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.outcome import Outcome, Presence, fact
from fieldmark.report.advice_text import rule_sentences
from fieldmark.report.difference_text import repeated_error_text
from fieldmark.report.html.cases import ReportLimits, case_documents, worst_cases
from fieldmark.report.html.metric_tabs import run_quality
from fieldmark.report.html.metrics import (
    EarlierRun,
    attribute_lines,
    confidence_view,
    detection_tables,
    domain_lines,
    evaluator_lines,
    histogram_view,
    metrics_view,
    slice_lines,
    trends,
)
from fieldmark.report.html.mistakes import (
    CaseFacts,
    HeatMap,
    MistakeGroups,
    ValueTables,
    most_mistakes_first,
    types_by_count,
)
from fieldmark.report.html.value_encoding import embedded, truncate
from fieldmark.report.shown_run import ShownRun, comparators_by_attribute, provider_names
from fieldmark.report.tables import cost_facts
from fieldmark.runs.case_result import date_orders

PageEmbedder: TypeAlias = Callable[[str, Mapping[str, JsonValue] | None], JsonObject]
"""Returns the pages of a case, given by its id and metadata, for the page."""
_MAX_NAMED: Final = 8
"""The number of attributes that are named for a group of similar mistakes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """Metrics and the list of cases, and the documents of cases as JSON by rank.

    `before` has the documents of changed cases in the run that is compared.
    """

    run: JsonObject
    opened: list[tuple[int, bytes]]
    before: list[tuple[int, bytes]] = field(default_factory=list)


class RunComparison(Protocol):
    """The comparison of a run with an earlier one."""

    @property
    def listed_ids(self) -> Collection[str]:
        """The ids of the changed cases that are listed."""
        ...

    def view(self, ranks: Mapping[str, int]) -> JsonObject:
        """Return metrics, attributes and changed cases; `ranks` are the ranks of cases by id."""
        ...


def view_of(
    run: ShownRun,
    comparison: RunComparison | None = None,
    *,
    before: ShownRun | None = None,
    earlier: Sequence[EarlierRun] = (),
    limits: ReportLimits | None = None,
    pages: PageEmbedder | None = None,
    finding: JsonObject | None = None,
) -> RunView:
    """Return the view of a run, with the differences from the run `before` and pages if given.

    `finding` is the strongest finding in its slices: its text and its attribute.
    """
    limits = limits or ReportLimits()
    summary = run.summary
    listed = worst_cases(run.cases(), limits.listed)
    wrong = most_mistakes_first(summary)
    heat = HeatMap(wrong, len(listed.lines), listed.total)
    orders = date_orders(run.cases)
    mistakes, tables, repeated = MistakeGroups(), ValueTables(wrong), RepeatedErrors(orders)
    reader = MistakeReader()
    paths = [path for path, _ in worst_attributes(summary.attributes)]
    facts = CaseFacts(paths, parse_slice_keys(summary.by) if run.has_values else (), orders)
    ranks: dict[str, int] = {}
    sources: dict[int, tuple[str, JsonObject | None]] = {}
    documents, has_values = _Documents(limits.opened_bytes), False
    scores: list[float | None] = []
    convention: Convention | None = None
    for position, case in enumerate(run.cases()):
        rank = listed.rank.get(position)
        has_values = has_values or case.has_values
        scores.append(case.score)
        convention = case.convention
        times = Counter(case.outcomes.cells)
        heat.add(times, case.attributes, rank)
        mistakes.add(case, times, rank)
        tables.add(case, rank)
        read = reader.read(case.outcomes, case.attributes, case.case, has_values=case.has_values)
        facts.add(case, read, times, rank)
        if case.has_values and not case.stats.failed:
            repeated.add_mistakes(read)
        if rank is not None:
            ranks[case.id] = rank
        if rank is not None and rank < limits.opened:
            documents.add(rank, case_documents(case))
            if pages is not None and case.has_values:
                sources[rank] = case.id, case.metadata
    opened: list[tuple[int, bytes]] = []
    for rank, document in documents.within_limit():
        if pages is None or rank not in sources:
            opened.append((rank, document))
        else:  # the pages are the first member of the object
            embedded_pages = embedded(pages(*sources[rank]))
            opened.append((rank, b'{"pages":%s,%s' % (embedded_pages, document[1:])))
    manifest, comparators = run.manifest, comparators_by_attribute(run.attributes)
    view: JsonObject = {
        "name": run.name,
        "title": run.title,
        "date": manifest.finished_at or manifest.started_at,
        "convention": summary.convention.name,
        **metrics_view(summary),
        "attributes": attribute_lines(summary, comparators),
        "quality": run_quality(summary, comparators),
        "domains": domain_lines(summary),
        "scores": histogram_view(scores),
        "mistakes": list[JsonValue](mistakes.view()),
        "heat": heat.view(),
        "cases": {
            "total": listed.total,
            "opened": len(opened),
            "lines": listed.to_table(),
            **facts.view(len(listed.lines)),
        },
        "types_by_count": {} if convention is None else types_by_count(convention),
        "method": _method(run, has_values=has_values),
    }
    optional: dict[str, JsonValue] = {
        "detection": [table.to_json() for table in detection_tables(summary)],
        "slices": slice_lines(summary),
        "repeated": [
            {
                "text": repeated_error_text(error),
                "attributes": list(error.attributes),
                "kind": error.kind.value,
            }
            for error in repeated.errors()
        ],
        "finding": finding,
        "confidence": confidence_view(summary),
        "trends": trends(summary, earlier),
        "value_tables": list[JsonValue](tables.view()),
        "explain": None if convention is None else _explain(run, convention),
        "advice": _advice_lines(facts.clusters.largest()),
        "reviews": list(run.reviews),
        "comparison": None if comparison is None else comparison.view(ranks),
    }
    view |= {name: part for name, part in optional.items() if part}
    compared: list[tuple[int, bytes]] = []
    if comparison is not None and before is not None:
        changed, opened_ranks = comparison.listed_ids, {rank for rank, _ in opened}
        documents = _Documents(limits.opened_bytes // 2)
        for case in before.cases():
            if case.id in changed and ranks.get(case.id) in opened_ranks:
                documents.add(ranks[case.id], case_documents(case))
        compared = documents.within_limit()
    return RunView(run=view, opened=opened, before=compared)


def _explain(run: ShownRun, convention: Convention) -> JsonObject:
    """Return the rules of attributes and the cost of outcomes, as labels and texts."""
    rules: list[JsonValue] = []
    if run.rule_facts is not None:
        for attribute in run.attributes:
            facts = [list[JsonValue](fact) for fact in run.rule_facts(attribute)]
            rules.append({"attribute": attribute.path, "facts": list[JsonValue](facts)})
    costs: dict[str, JsonValue] = {}
    for outcome in Outcome:
        expected = Presence.VALUE if outcome is not Outcome.HALLUCINATION else Presence.ABSENT
        candidate = Presence.VALUE if outcome is not Outcome.OMISSION else Presence.ABSENT
        if outcome is Outcome.BOTH_EMPTY:
            expected = candidate = Presence.NULL
        cost = field_cost(fact(outcome, expected, candidate), convention.counting)
        costs[outcome.label] = [
            list[JsonValue](cost_fact) for cost_fact in cost_facts(cost, convention.name)
        ]
    return {"rules": rules, "costs": costs}


def _advice_lines(clusters: Iterable[MistakeCluster]) -> list[JsonValue]:
    """Return groups of similar mistakes, with the attributes that have most of them."""
    return [
        {
            "pattern": cluster.pattern.name,
            "title": cluster.pattern.title,
            "hint": cluster.pattern.hint,
            "mistakes": cluster.number,
            "rules": rule_sentences(cluster),
            "attributes": [
                {"attribute": path, "mistakes": number}
                for path, number in cluster.attributes.most_common(_MAX_NAMED)
            ],
        }
        for cluster in clusters
    ]


class _Documents:
    """The documents of the worst cases, up to a number of bytes."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._cases: dict[int, bytes] = {}
        self._bytes = 0

    def add(self, rank: int, view: bytes | None) -> None:
        """Add a case unless it is too large; at twice the limit, cases beyond it are dropped."""
        if view is None:
            return
        self._cases[rank] = view
        self._bytes += len(view)
        if self._bytes > 2 * self._max_bytes:
            self._cases = dict(self.within_limit())
            self._bytes = sum(map(len, self._cases.values()))

    def within_limit(self) -> list[tuple[int, bytes]]:
        """Return the worst cases that fit, in order."""
        left = self._max_bytes
        within: list[tuple[int, bytes]] = []
        for rank, view in sorted(self._cases.items(), key=lambda item: item[0]):
            left -= len(view)
            if left < 0:
                break
            within.append((rank, view))
        return within


def _method(run: ShownRun, *, has_values: bool) -> JsonObject:
    """Return how the metrics were computed."""
    manifest, summary = run.manifest, run.summary
    convention = summary.convention
    return {
        "convention": {
            "name": convention.name,
            "version": convention.version,
            "comparison_sha256": convention.comparison_sha256,
            "counting_sha256": convention.counting_sha256,
        },
        "options": [[name, _setting(value)] for name, value in convention.options.items()],
        "inputs": [
            {"name": source.name, "bytes": source.bytes or 0, "sha256": source.sha256 or ""}
            for source in manifest.inputs
        ],
        "lists": [[name, _setting(value)] for name, value in manifest.lists.items()],
        # Pairs, because names from data must not become keys of the view.
        "limits": [list(pair) for pair in manifest.limits.items()],
        "left_out": [list(pair) for pair in summary.cases._asdict().items()],
        "values": has_values,
        "warnings": [truncate(text) for text in summary.warnings],
        "structural_warnings": [truncate(text) for text in summary.structural_warnings],
        "evaluators": evaluator_lines(summary),
        "provenance": [
            ["command", manifest.command],
            ["providers", ", ".join(provider_names(manifest.providers))],
            ["status", manifest.status],
            ["started", manifest.started_at],
            ["finished", manifest.finished_at],
            ["fieldmark", manifest.fieldmark],
            ["Python", manifest.python],
        ],
    }


def _setting(value: JsonValue) -> str:
    """Return the text of a setting."""
    match value:
        case dict():
            return ", ".join(f"{key} {_setting(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(map(_setting, value)) or "none"
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case _:
            return truncate(str(value), 500)
