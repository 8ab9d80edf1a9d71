"""Thresholds on confidences, and which values of new predictions they accept."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, ClassVar, Final, TypeAlias

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.run_result import RunResult
from fieldmark.analyses.saved_run import RunLike, stored_run
from fieldmark.data.input_files import open_file
from fieldmark.data.input_warnings import warn_confidences
from fieldmark.data.inputs import Coverage, InputLike
from fieldmark.data.pairing import open_candidates
from fieldmark.errors import ConfigError, DataError, Location, OptionError
from fieldmark.metrics.confidence import (
    ConfidenceSummary,
    ConfidenceTally,
    precision_key,
    rounded_confidence,
    summarize_confidence,
)
from fieldmark.model.case import Case
from fieldmark.model.json import JsonObject, JsonValue, Missing
from fieldmark.report.document import Cell, Column, Data, Document, Format, Line, Row, Table
from fieldmark.report.render import ShownRecord
from fieldmark.runs.run_options import InputsLike, read_inputs, with_yaml
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.annotations import Range
from fieldmark.values.escape import visible
from fieldmark.values.json_text import read_document
from fieldmark.values.paths import ROOT, join
from fieldmark.values.presence import is_present
from fieldmark.values.records import OMIT_DEFAULT, Key, computed_field, from_json, to_json
from fieldmark.values.text import plural
from fieldmark.values.value_confidences import ConfidenceOptions, least_confidence
from fieldmark.version import RUN_FORMAT

_LONGEST_FILE = 64 << 20
_NAMED: Final = 3
"""The most attributes that a message names."""


# --- thresholds -----------------------------------------------------------------------------------


class ThresholdScope(StrEnum):
    """Whether each attribute has a threshold of its own, or all have the same."""

    ATTRIBUTE = "attribute"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ThresholdSet(ShownRecord):
    """The lowest accepted confidence of the values of each attribute.

    Attributes:
        precision: The required precision.
        by: Whether there is one threshold for all attributes or one for each.
        run: The run that the thresholds were chosen with.
        options: The options for reading confidences.
        attributes: The threshold of each attribute; `None` without a threshold.
        note: The reason if there is no threshold at all.
        failed_cases: The number of failed cases, whose values were left out.
    """

    FORMAT: ClassVar[int] = RUN_FORMAT

    precision: float
    by: ThresholdScope
    run: str
    options: Annotated[ConfidenceOptions, Key("read")]
    attributes: Annotated[
        Mapping[str, Annotated[float | None, Range(ge=0, le=1)]], Key("thresholds")
    ]
    note: Annotated[str, OMIT_DEFAULT] = ""
    failed_cases: Annotated[int, Range(ge=0), OMIT_DEFAULT] = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is no threshold, so that all values must be reviewed."""
        return all(threshold is None for threshold in self.attributes.values())

    def to_dict(self) -> JsonObject:
        """Return the content of a threshold file."""
        return to_json(self)

    def document(self, *, top: int | None = None) -> Document:
        """Return the threshold of each attribute."""
        rows: list[Row] = [
            {
                "attribute": path,
                "threshold": Cell(threshold, None if threshold is None else f"{threshold:g}"),
            }
            for path, threshold in self.attributes.items()
        ]
        table = Table(
            columns=(
                Column("Attribute", "attribute"),
                Column("Threshold", "threshold", Format.NUMBER),
            ),
            rows=rows,
            top=top,
            noun="attribute",
        )
        return Document(Line(self.conclusion), table, data=Data(("attribute", "threshold"), rows))

    @property
    def conclusion(self) -> str:
        """Whether any values are accepted, as a sentence."""
        target = f"a precision of {self.precision:g}"
        if self.is_empty:
            return f"no threshold reaches {target}: {self.note}"
        return f"values with at least these confidences reach {target}{self.left_out}"

    @property
    def left_out(self) -> str:
        """How many failed cases the thresholds do not cover; empty if none failed."""
        failed = self.failed_cases
        return f" in the scored cases; {plural(failed, 'case')} failed" if failed else ""

    @property
    def reviewed_attributes(self) -> str:
        """The attributes without a threshold, as a sentence; empty if all have one."""
        without = [path for path, threshold in self.attributes.items() if threshold is None]
        if not without:
            return ""
        more = ", …" if len(without) > _NAMED else ""
        listed = ", ".join(map(visible, without[:_NAMED])) + more
        count = plural(len(without), "attribute")
        return f"{count} without a threshold, always reviewed: {listed}"

    @classmethod
    def from_dict(cls, value: JsonValue) -> ThresholdSet:
        """Parse a threshold file; an invalid one raises `ValueError`."""
        return from_json(cls, value)


ThresholdsLike: TypeAlias = ThresholdSet | str | Path
"""Thresholds, or the path of a threshold file."""


@checked
def thresholds(
    run: RunLike, precision: float = 0.99, *, by_attribute: bool = False
) -> ThresholdSet:
    """Choose the lowest confidence whose values have a precision, from a run with confidences.

    With a probability of 95%, the precision of the accepted values is at least the target. If there
    are too few cases to tell, an attribute has no threshold.

    Args:
        run: A run with confidences.
        precision: The target precision.
        by_attribute: Choose one threshold for each attribute instead of one for all.

    >>> import fieldmark as fm
    >>> pairs = [({"total": n}, {"total": {"value": n, "confidence": 0.9}}) for n in range(60)]
    >>> run = fm.score(pairs, confidence=True)
    >>> fm.thresholds(run, 0.95).attributes
    {'total': 0.9}
    """
    result = run if isinstance(run, RunResult) else stored_run(run)
    summary = result.summary if isinstance(result, RunResult) else result.complete_summary
    if summary.confidence is None:
        hint = "score again with --confidence (in Python: confidence=True)"
        raise ConfigError.of("the run has no confidences", hint=hint)
    figures = _with_target(result, summary.confidence, precision)
    key = precision_key(precision)
    pooled = figures.pooled.targets[key]
    chosen = {
        path: figures_of_attribute.targets[key].threshold if by_attribute else pooled.threshold
        for path, figures_of_attribute in figures.attributes.items()
    }
    none = all(threshold is None for threshold in chosen.values())
    path = result.path
    return ThresholdSet(
        precision=float(precision),
        run="" if path is None else path.name,
        by=ThresholdScope.ATTRIBUTE if by_attribute else ThresholdScope.ALL,
        options=figures.options,
        attributes=chosen,
        note=pooled.note if none else "",
        failed_cases=0 if summary.bounds is None else summary.bounds.failed,
    )


def _with_target(
    run: RunResult | StoredRun, stored: ConfidenceSummary, precision: float
) -> ConfidenceSummary:
    """Return the metrics for a precision; they are computed again unless they are stored."""
    if precision_key(precision) in stored.pooled.targets:
        return stored
    try:
        options = replace(stored.options, precision=(float(precision),))
    except OptionError as error:
        raise ConfigError.of(str(error)) from error
    tally = ConfidenceTally()
    cases = run.cases if isinstance(run, RunResult) else run.cases()
    for case in cases:
        if not case.stats.failed:
            tally.add(case.outcomes, case.attributes, case.confidences)
    return summarize_confidence(tally, options)


# --- triage ---------------------------------------------------------------------------------------


class Triage(StrEnum):
    """Whether a value or a document needs a person."""

    ACCEPT = "accept"
    REVIEW = "review"


class TriageReason(StrEnum):
    """Why a value is not accepted."""

    ACCEPTED = ""
    BELOW_THRESHOLD = "below the threshold"
    NO_CONFIDENCE = "without a confidence"
    NO_THRESHOLD = "without a threshold"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldDecision:
    """Whether a value is accepted; `reason` says why it is not."""

    path: str
    value: JsonValue
    confidence: float | None
    threshold: float | None
    decision: Triage
    reason: Annotated[TriageReason, OMIT_DEFAULT] = TriageReason.ACCEPTED

    def to_dict(self) -> JsonObject:
        """Return the decision as JSON."""
        return to_json(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentDecision:
    """Whether every value of a document is accepted; `reason` says why it has none."""

    id: str
    reason: Annotated[str, OMIT_DEFAULT] = ""
    fields: tuple[FieldDecision, ...]

    @property
    @computed_field(after="id")
    def decision(self) -> Triage:
        """Accept only if there are values, and all of them are accepted."""
        accepted = [field.decision is Triage.ACCEPT for field in self.fields]
        return Triage.ACCEPT if accepted and all(accepted) else Triage.REVIEW

    def to_dict(self) -> JsonObject:
        """Return the decision as JSON: one line of the output of `fieldmark confidence triage`."""
        return to_json(self)


@dataclass(slots=True)
class TriageResult:
    """The decisions on documents, which are made while they are read, and their totals so far.

    A result can be iterated once.

    Attributes:
        documents: The number of documents.
        accepted_documents: The number of documents without a value to review.
        values: The number of values.
        accepted_values: The number of accepted values.
        without_confidence: The number of values without a confidence.
        without_threshold: The number of values without a threshold.
    """

    _documents: Iterator[DocumentDecision]
    _coverage: Coverage
    documents: int = field(default=0, init=False)
    accepted_documents: int = field(default=0, init=False)
    values: int = field(default=0, init=False)
    accepted_values: int = field(default=0, init=False)
    without_confidence: int = field(default=0, init=False)
    without_threshold: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[DocumentDecision]:
        for document in self._documents:
            self.documents += 1
            self.accepted_documents += document.decision is Triage.ACCEPT
            self.values += len(document.fields)
            for value in document.fields:
                self.accepted_values += value.decision is Triage.ACCEPT
                self.without_confidence += value.reason is TriageReason.NO_CONFIDENCE
                self.without_threshold += value.reason is TriageReason.NO_THRESHOLD
            yield document

    @property
    def summary(self) -> str:
        """The totals as one line."""
        parts = [
            f"{self.accepted_documents:,} of {plural(self.documents, 'document')} accepted",
            f"{self.accepted_values:,} of {plural(self.values, 'value')} accepted",
        ]
        counts = (
            (self._coverage.unparseable, "unparseable"),
            (self.without_confidence, TriageReason.NO_CONFIDENCE),
            (self.without_threshold, TriageReason.NO_THRESHOLD),
        )
        return "; ".join([*parts, *(f"{number:,} {text}" for number, text in counts if number)])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about confidences that could not be read."""
        return tuple(warn_confidences(self._coverage))


_NO_VALUES = "no values"


@checked
def triage(
    candidates: InputLike, thresholds: ThresholdsLike, *, inputs: InputsLike = None
) -> TriageResult:
    """Decide which values of predictions are accepted, and which a person must review.

    A value is accepted if its confidence is at least the threshold of its attribute. Values without
    a confidence or a threshold are always reviewed.

    Args:
        candidates: Predictions with confidences.
        thresholds: The result of `thresholds`, or the path of a threshold file.
        inputs: How rows are read.

    >>> import fieldmark as fm
    >>> pairs = [({"total": n}, {"total": {"value": n, "confidence": 0.9}}) for n in range(60)]
    >>> chosen = fm.thresholds(fm.score(pairs, confidence=True), 0.95)
    >>> rows = [{"id": "a", "total": {"value": 7, "confidence": 0.8}}]
    >>> [(each.id, each.decision.value) for each in fm.triage(rows, chosen)]
    [('a', 'review')]
    """
    chosen = thresholds if isinstance(thresholds, ThresholdSet) else _load(thresholds)
    reading = replace(read_inputs(inputs), confidences=chosen.options)
    coverage = Coverage()
    attributes = _Attributes(chosen)
    rows = with_yaml(candidates)
    cases = (case for batch in open_candidates(rows, reading, coverage) for case in batch)
    return TriageResult((attributes.decide(case) for case in cases), coverage)


def _load(path: str | Path) -> ThresholdSet:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"thresholds must be a ThresholdSet or a path, got {type(path).__name__}")
    opened = open_file(path)
    try:
        content = opened.stream.read(_LONGEST_FILE)
    finally:
        opened.close()
    try:
        return ThresholdSet.from_dict(read_document(content))
    except ValueError as error:
        raise DataError(f"not a threshold file: {error}", Location(str(path))) from None


class _Attributes:
    """The attributes with thresholds, whose values are decided one by one."""

    def __init__(self, chosen: ThresholdSet) -> None:
        self._thresholds = chosen.attributes
        # An object with an attribute below it is not a value itself.
        self._parents = {
            path[:index]
            for path in chosen.attributes
            for index, char in enumerate(path)
            if char in ".["
        }

    def decide(self, case: Case) -> DocumentDecision:
        """Decide on all values of a document."""
        if isinstance(case.candidate, Missing):
            reason = case.note or case.input.value
            return DocumentDecision(id=case.id, fields=(), reason=reason)
        confidences = None if isinstance(case.confidences, Missing) else case.confidences
        is_container = isinstance(case.candidate, dict | list)
        start = "" if is_container else ROOT
        fields = tuple(self._fields(case.candidate, confidences, start, start))
        return DocumentDecision(id=case.id, fields=fields, reason="" if fields else _NO_VALUES)

    def _fields(
        self, value: JsonValue, confidences: JsonValue, path: str, attribute: str
    ) -> Iterator[FieldDecision]:
        whole = attribute in self._thresholds and attribute not in self._parents
        if isinstance(value, dict) and value and not whole:
            entries = f"{attribute}[]"
            for key, part in value.items():
                inner = join(attribute, key)
                known = inner in self._thresholds or inner in self._parents
                is_entry = not known and (entries in self._parents or entries in self._thresholds)
                rated = confidences.get(key) if isinstance(confidences, dict) else None
                yield from self._fields(
                    part, rated, join(path, key), entries if is_entry else inner
                )
        elif isinstance(value, list) and value and not whole:
            for index, part in enumerate(value):
                rated = confidences[index] if isinstance(confidences, list) else None
                yield from self._fields(part, rated, f"{path}[{index}]", f"{attribute}[]")
        else:
            confidence = least_confidence(confidences)
            if is_present(value) and (confidence is not None or value not in ([], {})):
                yield self._decide(value, confidence, path, attribute)

    def _decide(
        self, value: JsonValue, confidence: float | None, path: str, attribute: str
    ) -> FieldDecision:
        threshold = self._thresholds.get(attribute)
        reason = TriageReason.ACCEPTED
        if confidence is None:
            reason = TriageReason.NO_CONFIDENCE
        elif threshold is None:
            reason = TriageReason.NO_THRESHOLD
        elif rounded_confidence(confidence) < threshold:
            reason = TriageReason.BELOW_THRESHOLD
        return FieldDecision(
            path=path or ROOT,
            value=value,
            confidence=confidence,
            threshold=threshold,
            decision=Triage.REVIEW if reason else Triage.ACCEPT,
            reason=reason,
        )
