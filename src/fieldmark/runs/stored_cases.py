"""The cases of a saved run, to compare them again with other rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from fieldmark.data.inputs import Coverage, Inputs
from fieldmark.data.pairing import PairStream
from fieldmark.errors import ConfigError
from fieldmark.evaluators.base import SAFETY, EvaluatorResult
from fieldmark.judges.safety import Safety, SafetyFunction
from fieldmark.metrics.summary import SAFETY_JUDGE
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.reader import ReadExport
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.regions import stored_reading
from fieldmark.runs.stored_run import StoredRun
from fieldmark.values.json_text import unname_non_finite
from fieldmark.values.paths import PathError, changed_at, parse_path

_BATCH_CASES: Final = 256
_INVALID_TRUTH: Final = "its row is not part of {}"


def check_rescorable(run: StoredRun) -> None:
    """Raise an error if the cases of a run cannot be compared with other rules."""
    if run.manifest.evaluators:
        raise ConfigError.of(
            f"{run.path.name} is an evaluation: its scores come from evaluators, which have rules "
            "of their own",
            hint="change the eval file and run `fieldmark eval` again",
        )
    _ = run.complete_summary  # without which a run is not complete
    first = next(run.cases(), None)
    if first is not None and not first.has_values:
        raise ConfigError.of(
            f"{run.path.name} was saved without values, so its fields cannot be compared again",
            hint="score the inputs again with the new rules; convention and options can be changed "
            "without values",
        )


class StoredPairs(PairStream):
    """The cases of a run, read from its rows instead of its inputs.

    Cases with invalid ground truth have no row; their number is stored in the run. With `numbers`,
    only a sample of the cases is read. `results` are the stored results of the cases that were
    read, with their numbers; the consumer removes them.
    """

    def __init__(
        self,
        run: StoredRun,
        *,
        numbers: frozenset[int] | None = None,
        keep_results: bool = False,
    ) -> None:
        summary = run.complete_summary
        self.quotes = self.unique_ids = True
        self.by_id = False
        self.options = Inputs()
        self.sides = []
        self.format_in = stored_reading(summary).format_in
        self.notes = []
        self.structural = [
            warning for warning in summary.input_warnings if warning in summary.structural_warnings
        ]
        self.warnings = [
            warning for warning in summary.input_warnings if warning not in self.structural
        ]
        self.results: deque[tuple[int, CaseResult]] | None = deque() if keep_results else None
        self.safety = StoredSafety.of(run)
        self._exports = summary.exports
        self._run = run
        self._numbers = numbers
        self._invalid = summary.cases.invalid_truth if numbers is None else 0
        self._coverage = Coverage(unexpected=summary.cases.unexpected if numbers is None else 0)
        self._bytes_read = 0
        self._non_finite = False

    @property
    def coverage(self) -> Coverage:
        """The predictions without ground truth, as in the run."""
        return self._coverage

    @property
    def exports(self) -> tuple[ReadExport, ...]:
        """The exports that the run read."""
        return self._exports

    @property
    def non_finite(self) -> bool:
        """Whether any number read so far is NaN or infinite."""
        return self._non_finite

    @property
    def bytes_total(self) -> int:
        """The size of the rows of the run."""
        return self._run.results_bytes

    @property
    def bytes_read(self) -> int:
        """The size of the rows read so far."""
        return min(self._bytes_read, self.bytes_total)

    def keep_unparsed(self) -> None:
        """Do nothing: documents are parts of rows, which are parsed."""

    def batches(self) -> Iterator[list[Case]]:
        """Yield the cases, a few hundred at a time."""
        batch: list[Case] = []
        for number, size, result in self._run.numbered(self._numbers):
            self._bytes_read = size
            self._non_finite = self._non_finite or bool(result.non_finite)
            if self.results is not None:
                self.results.append((number, result))
            if self.safety is not None:
                self.safety.results.extend(result.evaluator_results)
            batch.append(compared_case(result))
            if len(batch) >= _BATCH_CASES:
                yield batch
                batch = []
        note = _INVALID_TRUTH.format(self._run.path.name)
        unread = Case("", None, MISSING, CaseInput.INVALID_TRUTH, note)
        yield [*batch, *([unread] * self._invalid)]


@dataclass(frozen=True, kw_only=True)
class StoredSafety:
    """The safety of the predictions of a run, which does not depend on rules.

    `results` are the results of the next cases, in their order.
    """

    name: str
    identity_sha256: str
    results: deque[EvaluatorResult] = field(default_factory=deque, compare=False, repr=False)

    @classmethod
    def of(cls, run: StoredRun) -> StoredSafety | None:
        """Return the safety of a run, if it was judged."""
        convention = run.manifest.convention
        name = convention.options.get(SAFETY_JUDGE)
        if not isinstance(name, str):
            return None
        return cls(name=name, identity_sha256=convention.comparison_sha256)

    def identity(self) -> JsonObject:
        """Return what determines the scores: the run that they are from."""
        return {"name": self.name, "run": self.identity_sha256}

    def unready(self) -> str | None:
        """Return `None`; this judge is always ready."""
        return None

    def opened(self) -> AbstractContextManager[SafetyFunction]:
        """Return a judge of the predictions in their order."""
        return nullcontext(self._next)

    def _next(self, _: JsonValue) -> Safety:
        score = self.results.popleft().score
        details = {name: value for name, value in score.details.items() if name != "judge"}
        return Safety(score.score, details, score.reasoning.removeprefix(f"{SAFETY}: "))


def compared_case(result: CaseResult) -> Case:
    """Return a case as it was compared; some parts are stored by field."""
    case, candidate = result.case, result.case.candidate
    if isinstance(candidate, Missing):
        return case
    if result.non_finite:
        fields = dict.fromkeys(result.non_finite)
        candidate = _with_changes(result, candidate, fields, lambda _: unname_non_finite)
        case = case._replace(candidate=candidate)
    if result.confidences is not None:
        rated = _with_changes(
            result,
            _filled(None, candidate),
            result.confidences,
            lambda confidence: partial(_filled, confidence),
        )
        case = case._replace(confidences=rated)
    return case


def _with_changes(
    result: CaseResult,
    document: JsonValue,
    fields: Mapping[int, float | None],
    change: Callable[[float | None], Callable[[JsonValue], JsonValue]],
) -> JsonValue:
    """Return a document of the structure of the candidate with the values of some fields changed.

    The fields are given by position.
    """
    for position, record in enumerate(result.outcomes.records(result.attributes)):
        if position in fields:
            try:
                path = parse_path(record.candidate_path)
            except PathError:  # a key that is longer than paths may be
                continue
            document = changed_at(document, path, change(fields[position]))
    return document


def _filled(confidence: float | None, value: JsonValue) -> JsonValue:
    """Return a value with the same confidence in place of each part."""
    if isinstance(value, dict) and value:
        return {key: _filled(confidence, item) for key, item in value.items()}
    if isinstance(value, list) and value:
        return [_filled(confidence, item) for item in value]
    return confidence
