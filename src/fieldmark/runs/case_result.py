"""The result of one case: returned by `compare`, written by runs and shown in reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Annotated, Final, NamedTuple, cast, overload

from fieldmark.compare.prompt_injection import INJECTION_NOTE, INJECTION_WARNING
from fieldmark.compare.wrappers import Tokens
from fieldmark.evaluators.base import EvaluatorResult, Score, unreadable_reason
from fieldmark.evaluators.hits_and_misses import (
    HitsAndMisses,
    case_hits_and_misses,
    mismatch_reason,
)
from fieldmark.metrics.case_score import CaseStats
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.date_orders import DateOrders
from fieldmark.metrics.headline import QUALITY_METRICS
from fieldmark.metrics.quality import ERROR, Quality, quality
from fieldmark.model.case import Case, CaseInput, Verdict
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.kernel import parsed
from fieldmark.model.outcome import Outcome, Presence, Reason
from fieldmark.model.outcomes import AttributeTable, Outcomes
from fieldmark.runs.failed_cases import CaseBounds, case_bounds
from fieldmark.values.escape import DASH, for_html, html_table
from fieldmark.values.json_text import all_finite, without_non_finite
from fieldmark.values.paths import field_value
from fieldmark.values.presence import is_present
from fieldmark.values.records import EXCLUDED, OMIT_DEFAULT, computed_field, to_json
from fieldmark.values.value_confidences import least_confidence

FLAGS: Final = ("coerced", "ambiguous", "approximate")
"""The flags that a comparison may have."""

NON_FINITE: Final = "non_finite"
"""The flag of a field in JSON with a value that JSON cannot represent."""

_SCORED: Final = frozenset({Outcome.MATCH, Outcome.WRONG_VALUE, Outcome.FORMAT_ERROR})


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldResult:
    """One field: its path, its outcome and both values.

    Attributes:
        path: The path in the ground truth.
        candidate_path: The path in the candidate, which differs from `path` if aligned list items
            have different indexes.
        attribute: The path without indexes.
        outcome: The name of the outcome, such as `match` or `wrong_value`.
        expected_presence: The presence of the expected value, such as `value` or `null`.
        candidate_presence: The presence of the candidate.
        score: The score from 0 to 1.
        similarity: The similarity from 0 to 1, if the comparator computes one.
        reason: The reason for a mismatch.
        comparator: The name of the comparator.
        weight: The weight of the field in the score of its case.
        required: Whether the rules require the field.
        flags: Remarks on the comparison, such as an ambiguous number.
        note: A message of the comparator.
        case_id: The id of the case.
        confidence: The confidence of the candidate, if it was read.
        expected: The expected value, or `MISSING`.
        candidate: The candidate, or `MISSING`.
    """

    path: str
    candidate_path: Annotated[str, EXCLUDED]
    attribute: str
    outcome: str
    expected_presence: str
    candidate_presence: str
    score: float | None
    similarity: float | None
    reason: Reason | None
    comparator: str
    weight: Annotated[float, EXCLUDED] = 1.0
    required: Annotated[bool, EXCLUDED] = True
    flags: tuple[str, ...] = ()
    note: str = ""
    case_id: Annotated[str, EXCLUDED] = ""
    confidence: Annotated[float | None, OMIT_DEFAULT] = None
    expected: JsonValue | Missing
    candidate: JsonValue | Missing

    def finite(self) -> FieldResult:
        """Return the field with null for NaN and infinite numbers, and then a flag `non_finite`.

        A field that was stored already has the flag, and the names of the numbers as strings.
        """
        flagged = NON_FINITE in self.flags
        expected = self.expected
        candidate = self.candidate
        if expected is not MISSING and not all_finite(expected):
            expected = without_non_finite(expected)
        if candidate is not MISSING and (flagged or not all_finite(candidate)):
            candidate = without_non_finite(candidate, named=flagged)
        if expected is self.expected and candidate is self.candidate:
            return self
        flags = self.flags if flagged else (*self.flags, NON_FINITE)
        return replace(self, expected=expected, candidate=candidate, flags=flags)

    def to_dict(self) -> JsonObject:
        """Return the field as JSON, without absent values.

        NaN and infinite numbers are null, and the field has the flag `non_finite`.
        """
        return to_json(self.finite())


@dataclass(eq=False)
class CaseResult:
    """One pair of documents: score, verdict, counts, quality, and every field on request.

    Fields are computed on access, so a run pays only for what it uses.

    Attributes:
        overall: The combined result of the evaluators, if the case has any.
        has_values: False for a stored case whose documents were not saved.
        non_finite: The positions of the fields of a stored case whose candidate was NaN or
            infinite.
        confidences: The confidence of each value of the candidate by position, `None` for a value
            without one, in a run with confidences.
        notes: How the documents of `compare` were read, if they were not compared as they are.
        find_warnings: Returns further warnings for a case that was compared alone.

    >>> import fieldmark as fm
    >>> result = fm.compare({"total": 10, "vendor": "Acme"}, {"total": 10, "vendor": "Acne"})
    >>> result.score, result.misses
    (0.5, ('vendor',))
    """

    case: Annotated[Case, EXCLUDED] = field(repr=False)
    outcomes: Annotated[Outcomes, EXCLUDED] = field(repr=False)
    stats: Annotated[CaseStats, EXCLUDED] = field(repr=False)
    attributes: Annotated[AttributeTable, EXCLUDED] = field(repr=False)
    convention: Annotated[Convention, EXCLUDED] = field(repr=False)
    evaluator_results: Annotated[tuple[EvaluatorResult, ...], EXCLUDED] = field(
        default=(), repr=False
    )
    overall: Annotated[Score | None, EXCLUDED] = field(default=None, repr=False)
    has_values: Annotated[bool, EXCLUDED] = field(default=True, repr=False)
    non_finite: Annotated[frozenset[int], EXCLUDED] = field(default=frozenset(), repr=False)
    confidences: Annotated[Mapping[int, float | None] | None, EXCLUDED] = field(
        default=None, repr=False
    )
    notes: Annotated[tuple[str, ...], OMIT_DEFAULT] = field(default=(), repr=False)
    find_warnings: Annotated[Callable[[CaseResult], Sequence[str]] | None, EXCLUDED] = field(
        default=None, repr=False
    )

    @property
    def expected(self) -> JsonValue | Missing:
        """The ground truth, if it was saved."""
        if not self.has_values:
            return MISSING
        return self.case.expected if self.case.unparsed is None else parsed(self.case.unparsed[0])

    @property
    def candidate(self) -> JsonValue | Missing:
        """The candidate, if it exists and was saved."""
        if not self.has_values:
            return MISSING
        return self.case.candidate if self.case.unparsed is None else parsed(self.case.unparsed[1])

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the case."""
        return self.case.tags

    @property
    @computed_field(key="case_id")
    def id(self) -> str:
        """The id of the case."""
        return self.case.id

    @property
    @computed_field(key="convention")
    def convention_name(self) -> str:
        """The name of the convention."""
        return self.convention.name

    @property
    @computed_field()
    def score(self) -> float | None:
        """The primary score of the convention for this case; undefined if a comparison failed."""
        return self.stats.score

    @property
    @computed_field()
    def vacuous(self) -> bool:
        """Whether there was nothing to score."""
        return self.stats.vacuous

    @property
    @computed_field()
    def verdict(self) -> Verdict | None:
        """Pass, partial or fail; undefined if the case failed."""
        return self.stats.verdict

    @property
    @computed_field()
    def status(self) -> str:
        """`ok`, or `error` if a comparison failed."""
        return "error" if self.stats.errors_count else "ok"

    @property
    @computed_field()
    def hits(self) -> tuple[str, ...]:
        """The fields that match."""
        return self._fields_only.hits if self.overall is None else self.overall.hits

    @property
    @computed_field()
    def misses(self) -> tuple[str, ...]:
        """The fields that do not match, each with its reason."""
        return self._fields_only.misses if self.overall is None else self.overall.misses

    @property
    @computed_field()
    def skipped(self) -> tuple[str, ...]:
        """The fields that count neither as hits nor as misses."""
        return self._fields_only.skipped if self.overall is None else self.overall.skipped

    @property
    @computed_field()
    def reasoning(self) -> str:
        """How many of the scored fields match, or the reasoning of the evaluators."""
        return self._fields_only.reasoning if self.overall is None else self.overall.reasoning

    @property
    @computed_field()
    def input(self) -> str:
        """Whether ground truth and candidate could be read."""
        return self.case.input.value

    @property
    @computed_field()
    def note(self) -> str:
        """Why the candidate could not be read."""
        return "" if self.case.input is CaseInput.FAILED else self.case.note

    @property
    @computed_field()
    def warnings(self) -> tuple[str, ...]:
        """Reasons to doubt the scores of this case; they quote no value.

        The result of `compare` also names configured paths that neither document has.
        """
        texts = [text for result in self.evaluator_results for text in result.score.warnings]
        if any(
            comparison.note == INJECTION_NOTE for comparison in self.outcomes.comparisons.values()
        ):
            texts.append(INJECTION_WARNING)
        if self.find_warnings is not None:
            texts += self.find_warnings(self)
        return tuple(dict.fromkeys(texts))

    @property
    @computed_field()
    def counts(self) -> Counts:
        """True and false positives and negatives."""
        return self.stats.counts

    @property
    @computed_field()
    def precision(self) -> float | None:
        """The share of predicted fields that are correct."""
        own = self.stats.precision
        return own if self.bounds is None else self.bounds.known("precision", own)

    @property
    @computed_field()
    def recall(self) -> float | None:
        """The share of expected fields that were extracted correctly."""
        own = self.stats.recall
        return own if self.bounds is None else self.bounds.known("recall", own)

    @property
    @computed_field()
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall."""
        own = self.stats.f1
        return own if self.bounds is None else self.bounds.known("f1", own)

    @property
    @computed_field()
    def errors_by_type(self) -> Mapping[str, int]:
        """The number of mistakes by type."""
        return self.stats.errors._asdict()

    @cached_property
    @computed_field()
    def quality(self) -> Quality:
        """Completeness, hallucination, accuracy and the response quality score."""
        own = quality(self.stats.quality, self.convention.counting, self.stats.safety)
        if self.bounds is None:
            return own
        known = own._replace(
            completeness=self.bounds.known("completeness", own.completeness),
            hallucination=self.bounds.known("hallucination", own.hallucination),
            accuracy=self.bounds.known("accuracy", own.accuracy),
            safety=self.bounds.known("safety", own.safety),
            rqs=self.bounds.known("rqs", own.rqs),
        )
        errors = {name: (ERROR,) for name in QUALITY_METRICS if getattr(known, name) is None}
        return known._replace(flags={**own.flags, **errors})

    @cached_property
    @computed_field(after="score")
    def bounds(self) -> Annotated[CaseBounds | None, OMIT_DEFAULT]:
        """The bounds of the metrics of a failed case."""
        return case_bounds(self) if self.stats.failed else None

    @property
    @computed_field(after="status")
    def error(self) -> Annotated[str, OMIT_DEFAULT]:
        """Why the case failed: its first failed comparison, or what its evaluators reported."""
        if not self.stats.errors_count:
            return ""
        if self.case.input is CaseInput.FAILED:
            return self.case.note or CaseInput.FAILED.value
        for record in self.outcomes.records(self.attributes):
            if record.outcome is Outcome.ERROR:
                note = record.comparison.note if record.comparison and self.has_values else ""
                return f"{record.path}: {note or mismatch_reason(record) or Outcome.ERROR.label}"
        overall = self.overall
        if overall is None and self.evaluator_results:
            overall = self.evaluator_results[0].score  # safety without evaluators
        reason = overall.reasoning if overall is not None and self.has_values else ""
        return reason or Outcome.ERROR.label

    @property
    @computed_field()
    def metadata(self) -> Annotated[JsonObject | None, OMIT_DEFAULT]:
        """The metadata of the case, if it was read and saved."""
        context = self.case.context if self.has_values else None
        return None if context is None else context.metadata

    @property
    @computed_field()
    def usage(self) -> Annotated[JsonObject | None, OMIT_DEFAULT]:
        """The model that produced the candidate during the run: tokens, cost and seconds."""
        return None if self.case.context is None else self.case.context.usage

    @property
    @computed_field(key="evaluator_results")
    def _evaluations(self) -> Annotated[tuple[EvaluatorResult, ...], OMIT_DEFAULT]:
        return self.evaluator_results

    @property
    @computed_field(key="outcomes")
    def _finite_fields(self) -> tuple[FieldResult, ...]:
        return tuple(field.finite() for field in self.fields)

    @cached_property
    def fields(self) -> tuple[FieldResult, ...]:
        """Every field with its values."""
        return tuple(self.iter_fields())

    @property
    def evaluation(self) -> str:
        """The combined reasoning of the evaluators, or an empty string without evaluators."""
        return "" if self.overall is None else self.overall.reasoning

    @cached_property
    def _fields_only(self) -> HitsAndMisses:
        read = self.case.input
        absent = unreadable_reason(
            MISSING if read is CaseInput.MISSING else None,
            unreadable=read is CaseInput.PARSE_ERROR,
        )
        return case_hits_and_misses(self.outcomes, self.attributes, self.convention, absent)

    def iter_fields(self) -> Iterator[FieldResult]:
        """Yield every field with its values."""
        graded = self.convention.counting.graded
        expected, candidate = self.expected, self.candidate
        for position, record in enumerate(self.outcomes.records(self.attributes)):
            attribute = self.attributes.attributes[record.attribute]
            comparison = record.comparison
            score = None  # there was nothing to compare
            if record.outcome in _SCORED:
                matched = record.outcome is Outcome.MATCH
                score = comparison.score if comparison and graded else float(matched)
            yield FieldResult(
                path=record.path,
                candidate_path=record.candidate_path,
                attribute=attribute.path,
                outcome=record.outcome.label,
                expected_presence=record.expected_presence.name.lower(),
                candidate_presence=record.candidate_presence.name.lower(),
                expected=field_value(expected, record.path, record.expected_presence),
                candidate=field_value(candidate, record.candidate_path, record.candidate_presence),
                score=score,
                similarity=None if comparison is None else comparison.similarity,
                reason=mismatch_reason(record),
                comparator=attribute.comparator,
                weight=attribute.weight,
                required=attribute.required,
                flags=(
                    *(name for name in FLAGS if comparison and getattr(comparison, name)),
                    *([NON_FINITE] if position in self.non_finite else ()),
                ),
                note="" if comparison is None else comparison.note,
                case_id=self.case.id,
                confidence=self.confidences.get(position) if self.confidences else None,
            )

    def without_values(self) -> CaseResult:
        """Return the case with paths and scores only: nothing that may quote a document."""
        outcomes = self.outcomes
        comparisons = {
            position: comparison._replace(note="") if comparison.note else comparison
            for position, comparison in outcomes.comparisons.items()
        }
        return replace(
            self,
            case=self.case._replace(expected=None, candidate=MISSING, note="", confidences=MISSING),
            has_values=False,
            outcomes=Outcomes(
                outcomes.cells, comparisons, outcomes.items, fallback=outcomes.fallback
            ),
            evaluator_results=tuple(
                replace(evaluation, score=_without_texts(evaluation.score))
                for evaluation in self.evaluator_results
            ),
            overall=None if self.overall is None else _without_texts(self.overall),
        )

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return to_json(self)

    def __repr__(self) -> str:
        return f"CaseResult(score={self._shown_score}, verdict={self.verdict}, {self.reasoning})"

    @property
    def _shown_score(self) -> str:
        shown = DASH if self.score is None else f"{self.score:.3f}"
        if self.bounds is not None and self.bounds.score is not None:
            low, high = self.bounds.score
            return f"{shown} (between {low:.3f} and {high:.3f}: {self.error})"
        return f"{shown} (vacuous)" if self.vacuous else shown

    def _repr_html_(self) -> str:
        rows = [
            {
                "path": field.path,
                "outcome": field.outcome,
                "expected": DASH if field.expected is MISSING else field.expected,
                "candidate": DASH if field.candidate is MISSING else field.candidate,
                "score": field.score,
            }
            for field in self.fields
        ]
        title = f"{self.verdict or self.status}, score {self._shown_score}, {self.reasoning}"
        return f"<p>{for_html(title)}</p>{html_table(rows)}"


class CaseColumns(NamedTuple):
    """Some cases with their outcomes and statistics."""

    cases: Sequence[Case]
    outcomes: Sequence[Outcomes]
    stats: Sequence[CaseStats]


class CaseResults(Sequence[CaseResult]):
    """The results of cases that could be read, without evaluators.

    A result is created each time it is used, because most runs need only the columns.
    """

    __slots__ = ("_attributes", "_convention", "columns")

    def __init__(
        self, columns: CaseColumns, attributes: AttributeTable, convention: Convention
    ) -> None:
        self.columns = columns
        self._attributes = attributes
        self._convention = convention

    def __len__(self) -> int:
        return len(self.columns.cases)

    def __iter__(self) -> Iterator[CaseResult]:
        return map(CaseResult, *self.columns, repeat(self._attributes), repeat(self._convention))

    @overload
    def __getitem__(self, index: int) -> CaseResult: ...
    @overload
    def __getitem__(self, index: slice) -> CaseResults: ...
    def __getitem__(self, index: int | slice) -> CaseResult | CaseResults:
        cases, outcomes, stats = self.columns
        if isinstance(index, slice):
            columns = CaseColumns(cases[index], outcomes[index], stats[index])
            return CaseResults(columns, self._attributes, self._convention)
        own = cases[index], outcomes[index], stats[index]
        return CaseResult(*own, self._attributes, self._convention)


def case_columns(results: Sequence[CaseResult]) -> CaseColumns:
    """Return the cases, outcomes and statistics of results."""
    if isinstance(results, CaseResults):
        return results.columns
    return CaseColumns(
        [result.case for result in results],
        [result.outcomes for result in results],
        [result.stats for result in results],
    )


def _without_texts(score: Score) -> Score:
    """Return a score without the lists and strings that may quote a document."""
    return Score(
        score=score.score,
        verdict=score.verdict,
        status=score.status,
        vacuous=score.vacuous,
        warnings=score.warnings,
    )


def with_confidences(result: CaseResult) -> CaseResult:
    """Return a result with the confidence of each field that has a value in the candidate.

    Aligned items have the confidences of the candidate's items. A field that is compared as a whole
    has the lowest confidence of its parts, and none if a part has none. An empty list or object is
    a value only if it has a confidence. The words of a text are one value, with the outcome of the
    first one that does not match.
    """
    stored, candidate = result.case.confidences, result.case.candidate
    confidences: dict[int, float | None] = {}
    texts: dict[tuple[int, str], tuple[int, bool]] = {}
    if not isinstance(stored, Missing):
        for position, record in enumerate(result.outcomes.records(result.attributes)):
            path, presence = record.candidate_path, record.candidate_presence
            comparator = result.attributes.attributes[record.attribute].comparator
            if comparator == Tokens.name:
                key, matched = (record.attribute, record.label), record.outcome is Outcome.MATCH
                earlier, all_matched = texts.get(key, (-1, True))
                if earlier >= 0 and (matched or not all_matched):
                    continue
                confidences.pop(earlier, None)
                texts[key] = position, matched
                # A word may be missing, but the text is not.
                text = field_value(candidate, path, Presence.VALUE)
                presence = Presence.VALUE if is_present(text) else presence
            if presence is not Presence.VALUE:
                continue
            confidence = least_confidence(field_value(stored, path, presence))
            if confidence is not None or field_value(candidate, path, presence) not in ([], {}):
                confidences[position] = confidence
    return replace(result, confidences=confidences)


def with_parsed_documents(result: CaseResult) -> CaseResult:
    """Return a result whose documents are parsed."""
    if result.case.unparsed is None:
        return result
    expected, candidate = map(parsed, result.case.unparsed)
    case = result.case._replace(
        expected=cast("JsonValue", expected), candidate=candidate, unparsed=None
    )
    return replace(result, case=case)


def date_orders(cases: Callable[[], Iterable[CaseResult]]) -> DateOrders:
    """Return the orders of the dates in cases; `cases` begins with the first one."""
    return DateOrders(lambda: ((case.expected, case.candidate) for case in cases()))
