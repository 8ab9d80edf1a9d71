"""Show what other rules would change in a saved run, without a new run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.recount import RunLike, stored_run
from fieldmark.analyses.rescore import prepare_rules
from fieldmark.analyses.result import run_result
from fieldmark.errors import ConfigError
from fieldmark.metrics.summary import Summary, summarize
from fieldmark.model.case import Case
from fieldmark.model.json import MISSING, JsonObject, JsonValue
from fieldmark.model.outcomes import AttributeTable
from fieldmark.report.document import Data, Document, Items, Line, Row, warning
from fieldmark.report.metric_titles import METRIC_TITLES
from fieldmark.report.render import ShownRecord
from fieldmark.report.tables import number, outcome_text
from fieldmark.runs.case_processor import GroupTotals
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.runs.run_options import complete_options
from fieldmark.runs.session import Progress
from fieldmark.runs.settings import RulesLike
from fieldmark.runs.stored_cases import StoredPairs
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.text import plural

_LIMIT: Final = 1000
_LIMIT_BYTES: Final = 16 << 20
"""The approximate size of the rows that are compared."""
_FEWEST: Final = 20
"""The smallest sample because of the size of cases."""
_EXAMPLES: Final = 50
_EXAMPLES_OF_CASE: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedField:
    """A field with another outcome; before or after the change, it may not be compared at all.

    `number` is the number of its case in the run.
    """

    number: int
    before: FieldResult | None
    after: FieldResult | None

    @property
    def field(self) -> FieldResult:
        """The field with its path and values."""
        found = self.after or self.before
        assert found is not None  # noqa: S101 - one of them exists
        return found.finite()

    def to_dict(self) -> JsonObject:
        """Return the change as JSON, without absent values."""
        shown = self.field
        values = {"expected": shown.expected, "candidate": shown.candidate}
        return {
            "case": self.number,
            "case_id": shown.case_id,
            "path": shown.path,
            "attribute": shown.attribute,
            "before": _side(self.before),
            "after": _side(self.after),
            **{side: value for side, value in values.items() if value is not MISSING},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedAttribute:
    """An attribute with changed fields: their number, and its F1 before and after."""

    attribute: str
    fields: int
    before: float | None
    after: float | None


@dataclass(frozen=True, kw_only=True, repr=False)
class PreviewResult(ShownRecord):
    """The changes if a run was rescored with other rules.

    Attributes:
        run: The name of the run.
        cases: The number of cases of the run.
        compared: The number of cases that were compared: all, or a random sample.
        changed_cases: The number of compared cases with changed fields.
        changed_fields: The number of fields with another outcome.
        metrics: The metrics of the compared cases, before and after.
        attributes: The changes by attribute.
        examples: Some of the changed fields, from as many cases as possible.
        errors: The number of comparisons that failed.
        warnings: Warnings about the rules.
    """

    run: str
    cases: int
    compared: int
    changed_cases: int
    changed_fields: int
    metrics: Mapping[str, tuple[float | None, float | None]]
    attributes: tuple[ChangedAttribute, ...]
    examples: tuple[ChangedField, ...]
    errors: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def is_sample(self) -> bool:
        """Whether only some of the cases were compared."""
        return self.compared < self.cases

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "cases": self.cases,
            "compared": self.compared,
            "sample": self.is_sample,
            "changed_cases": self.changed_cases,
            "changed_fields": self.changed_fields,
            "errors": self.errors,
            "metrics": {
                name: {"before": before, "after": after}
                for name, (before, after) in self.metrics.items()
            },
            "attributes": [
                {
                    "attribute": each.attribute,
                    "fields": each.fields,
                    "f1": {"before": each.before, "after": each.after},
                }
                for each in self.attributes
            ],
            "examples": [each.to_dict() for each in self.examples],
            "warnings": list(self.warnings),
        }

    def document(self, *, top: int | None = None) -> Document:
        """Return the metrics before and after, the attributes and some of the changed fields."""
        compared = plural(self.compared, "case")
        sample = f", a random sample of {plural(self.cases, 'case')}" if self.is_sample else ""
        conclusion = f"nothing would change in {compared}{sample}"
        if self.changed_fields or self.changed_cases:
            fields = plural(self.changed_fields, "field")
            conclusion = f"{fields} in {self.changed_cases:,} of {compared} would change{sample}"
        attributes = [
            Line(
                f"{change.attribute}: {plural(change.fields, 'field')}, "
                f"F1 {number(change.before)} → {number(change.after)}"
            )
            for change in self.attributes[:top]
        ]
        rows: list[Row] = [_row(change) for change in self.examples]
        examples = [
            Line(f"{row['case_id']} {row['path']}: {row['before']} → {row['after']}")
            for row in rows[:top]
        ]
        return Document(
            Line(conclusion),
            Items(
                lines=[
                    Line(f"{METRIC_TITLES[name]}: {number(before)} → {number(after)}")
                    for name, (before, after) in self.metrics.items()
                ]
            ),
            *([Line("attributes with changes:")] if attributes else ()),
            Items(lines=attributes, more=len(self.attributes) - len(attributes), noun="attribute"),
            *([Line("changed fields:"), Items(lines=examples)] if examples else ()),
            *(
                [Line(f"{plural(self.errors, 'field')} could not be compared")]
                if self.errors
                else ()
            ),
            *map(warning, self.warnings),
            data=Data(("case_id", "path", "attribute", "before", "after"), rows),
        )


@checked
def preview_rules(
    run: RunLike,
    rules: RulesLike,
    *,
    convention: str | None = None,
    options: Mapping[str, JsonValue] | None = None,
    limit: int = _LIMIT,
    allow_code: bool = False,
    progress: Progress | None = None,
) -> PreviewResult:
    """Compare the stored documents of a run with other rules, and return the changes.

    Nothing is saved; `rescore` with the same arguments makes the run. The metrics before and after
    are computed from the same cases. Models are not called: only cached responses are used, and a
    field without a cached response is an error.

    Args:
        run: A saved run: its directory, id, tag or `latest`, or a result of `score` or `open_run`.
        rules: A rules file, or rules as a mapping.
        convention: The name of a convention; by default the convention of the rules, otherwise of
            the run.
        options: Options of the convention.
        limit: The approximate number of cases to compare, fewer if they are large: a random sample,
            which is always the same for a run.
        allow_code: Rules may name Python functions, which are then imported and run.
        progress: Called regularly with the cases processed, the bytes read, and the total bytes if
            known.

    >>> import fieldmark as fm
    >>> run = fm.score([({"total": 10}, {"total": 10.4})], out="run")
    >>> found = fm.preview_rules(run, {"total": {"match": "numeric_tolerance", "tolerance": 0.5}})
    >>> found.changed_fields, found.metrics["micro_f1"]
    (1, (0.0, 1.0))
    """
    if limit < 1:
        raise ConfigError.of(f"limit must be at least 1, got {limit}")
    stored = stored_run(run)
    numbers = _sample(stored, limit)
    run_options = complete_options(
        rules=rules,
        convention=convention,
        options=options,
        offline=True,
        allow_code=allow_code,
    )
    prepared, stream = prepare_rules(stored, run_options, numbers=numbers, keep=True)
    changes = _Changes(stream)
    result = run_result(prepared, run_options, progress=progress, observers=[changes.add])
    before, after = changes.summary_before(stored), result.summary
    hidden = (
        {"safety", "rqs"}
        if "safety" in after.flags and next(iter(after.metrics)) != "rqs"
        else set()
    )
    return PreviewResult(
        run=stored.path.name,
        cases=_rows(stored),
        compared=changes.compared,
        changed_cases=changes.cases,
        changed_fields=sum(changes.attributes.values()),
        metrics={
            name: (before.metrics.get(name), value)
            for name, value in after.metrics.items()
            if name not in hidden
        },
        attributes=tuple(
            ChangedAttribute(
                attribute=path,
                fields=number,
                before=_f1(before, path),
                after=_f1(after, path),
            )
            for path, number in changes.attributes.most_common()
        ),
        examples=tuple(changes.examples),
        errors=changes.errors,
        # That no document has a path is not known from a sample.
        warnings=() if numbers is not None else after.warnings,
    )


def _rows(run: StoredRun) -> int:
    """Return the number of stored cases; cases with invalid ground truth are not stored."""
    cases = run.complete_summary.cases
    return cases.total - cases.invalid_truth


def _sample(run: StoredRun, limit: int) -> frozenset[int] | None:
    """Return the numbers of the cases to compare; `None` if neither cases nor bytes are too many.

    They are random, because every n-th case of data with a period would be of one kind.
    """
    cases, size = _rows(run), run.results_bytes
    most = min(limit, max(_FEWEST, _LIMIT_BYTES * cases // max(1, size)))
    if cases <= most:
        return None
    return frozenset(random.Random(0).sample(range(1, cases + 1), most))  # noqa: S311


def _f1(summary: Summary, attribute: str) -> float | None:
    found = summary.attributes.get(attribute)
    return None if found is None else found.f1


class _Changes:
    """Compares new results with the stored ones, case by case."""

    def __init__(self, stream: StoredPairs) -> None:
        self._before = GroupTotals(AttributeTable(), sampled=False)
        self.compared = self.cases = self.errors = 0
        self.attributes: Counter[str] = Counter()
        self.examples: list[ChangedField] = []
        self._stream = stream

    def add(self, results: Sequence[CaseResult], _: Sequence[Case]) -> None:
        """Add the results of a segment."""
        for after in results:
            stored = self._stream.results
            assert stored is not None  # noqa: S101 - they are kept
            number, before = stored.popleft()
            self.compared += 1
            if self.compared == 1:
                self._before = GroupTotals(before.attributes, sampled=False)
            self._before.add([before])
            changes = list(_changed_fields(before, after))
            self.attributes.update(each.attribute for each in map(_shown, changes))
            self.cases += bool(changes) or before.score != after.score
            self.errors += after.stats.errors_count
            room = min(_EXAMPLES - len(self.examples), _EXAMPLES_OF_CASE)
            self.examples += [
                ChangedField(number=number, before=one, after=two) for one, two in changes[:room]
            ]

    def summary_before(self, run: StoredRun) -> Summary:
        """Return the metrics of the compared cases as they were stored."""
        applied = run.manifest.convention
        return summarize(self._before.tally, run.convention, applied=applied)


def _shown(change: tuple[FieldResult | None, FieldResult | None]) -> FieldResult:
    found = change[1] or change[0]
    assert found is not None  # noqa: S101 - one of them exists
    return found


def _changed_fields(
    before: CaseResult, after: CaseResult
) -> Iterator[tuple[FieldResult | None, FieldResult | None]]:
    """Yield the fields whose outcome or score differs, or that only one side compares."""
    fields: dict[tuple[str, int], list[FieldResult | None]] = {}
    for side, result in enumerate((before, after)):
        seen: Counter[str] = Counter()
        for each in result.iter_fields():
            key = each.path, seen[each.path]
            seen[each.path] += 1
            fields.setdefault(key, [None, None])[side] = each
    for one, two in fields.values():
        if one is None or two is None or (one.outcome, one.score) != (two.outcome, two.score):
            yield one, two


def _side(field: FieldResult | None) -> JsonObject | None:
    if field is None:
        return None
    return {
        "outcome": field.outcome,
        "comparator": field.comparator,
        "similarity": field.similarity,
        "note": field.note,
    }


def _row(change: ChangedField) -> Row:
    """Return a changed field with its outcomes for people."""
    before, after = (
        "not compared" if side is None else outcome_text(side.outcome)
        for side in (change.before, change.after)
    )
    field = change.field
    return {
        "case_id": field.case_id,
        "path": field.path,
        "attribute": field.attribute,
        "before": before,
        "after": after,
    }
