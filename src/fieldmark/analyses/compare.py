"""Compare one candidate, or several, with an expected value."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import NamedTuple, Unpack, cast

from fieldmark.analyses.arguments import checked
from fieldmark.data.document_forms import detect_envelopes
from fieldmark.data.inputs import Envelopes
from fieldmark.data.json_parser import JsonDialect, Role
from fieldmark.data.json_rows import ensure_documents, ensure_json
from fieldmark.data.model_text import read_candidate, read_expected
from fieldmark.errors import ConfigError, DataError, Location, with_location
from fieldmark.metrics.consistency import Ranking, agreement, consistency
from fieldmark.metrics.consistency import rank as ranking_of
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING, JsonObject, Missing
from fieldmark.model.outcome import Outcome
from fieldmark.model.outcomes import FieldOutcome
from fieldmark.model.rule import Scope
from fieldmark.plan import compile_plan
from fieldmark.runs.case_processor import CaseProcessor
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.error_boundary import check_safety, open_safety
from fieldmark.runs.provider_set import ProviderSet
from fieldmark.runs.run_options import CompareOptions, DocumentOptions, RuleOptions
from fieldmark.runs.settings import Settings, resolve_settings
from fieldmark.runs.warnings import pair_warnings
from fieldmark.values.declared_options import declared_options
from fieldmark.values.equality import equal
from fieldmark.values.text import plural


@checked
def compare(
    expected: object,
    candidate: object,
    **options: Unpack[CompareOptions],
) -> CaseResult:
    """Compare a candidate with the expected value, field by field.

    Without `convention`, the convention of the rules applies, otherwise `confusion`.

    Args:
        expected: A JSON value, pydantic model, dataclass, attrs class or named tuple, which may
            contain dates, decimals and other values with a JSON equivalent. Text that is JSON, also
            in a code fence, is parsed.
        candidate: A document in the same forms. Text that cannot be parsed has no fields if the
            expected value is an object or a list; if it is a string, the candidate is a string too.
        **options: The options below.

    >>> import fieldmark as fm
    >>> fm.compare({"total": 100.0}, {"total": 100.02}, rules={
    ...     "total": {"match": "numeric_tolerance", "tolerance": 0.05}}).score
    1.0
    """
    return compare_pair(expected, candidate, **options)[1]


def compare_pair(
    expected: object, candidate: object, **options: Unpack[CompareOptions]
) -> tuple[Settings, CaseResult]:
    """Return the resolved settings of a comparison and its result."""
    settings, envelopes = read_options(options)
    check_ready(settings)
    (pair,) = read_pairs(expected, {"candidate": candidate}, envelopes)
    result = compare_read(settings, pair)
    return settings, replace(result, find_warnings=partial(warnings_of, settings))


def warnings_of(settings: Settings, *results: CaseResult) -> tuple[str, ...]:
    """Return the warnings about documents that were compared alone, and about their rules."""
    return (*pair_warnings(results, settings.rules), *settings.warnings)


def read_options(options: CompareOptions) -> tuple[Settings, str]:
    """Return the resolved settings of a comparison, and how envelopes of values are read."""
    own = declared_options(DocumentOptions)["envelopes"]
    envelopes = options.get("envelopes") or Envelopes.UNWRAP
    if problem := own.problem(envelopes):
        raise ConfigError.of(f"{own.name} {problem}")
    others = {name: value for name, value in options.items() if name != own.name}
    return resolve_settings(**cast("RuleOptions", others)), envelopes


class ReadPair(NamedTuple):
    """Two documents as a case, and notes about how they were read."""

    case: Case
    notes: tuple[str, ...] = ()


def read_pairs(
    expected: object, candidates: Mapping[str, object], envelopes: str = Envelopes.UNWRAP
) -> list[ReadPair]:
    """Return a case for each candidate, with its documents read as in a data set.

    The error for an expected value that cannot be read, or for an object that is not JSON, names
    the argument.
    """
    with _located("expected"):
        truth = read_expected(ensure_json(expected, Role.TRUTH), JsonDialect(role=Role.TRUTH))
    pairs: list[ReadPair] = []
    for name, document in candidates.items():
        with _located(name):
            candidate = ensure_json(document)
        case = Case("1", truth, candidate)
        if isinstance(document, str) and isinstance(candidate, str):
            dialect = JsonDialect(role=Role.CANDIDATE)
            try:
                value, parsed_from = read_candidate(truth, candidate, dialect)
                case = case._replace(candidate=value, parsed_from=parsed_from)
            except DataError as error:
                unread = CaseInput.PARSE_ERROR
                case = case._replace(candidate=MISSING, input=unread, note=error.message)
        pairs.append(_without_metadata(case, envelopes))
    return pairs


def _without_metadata(case: Case, envelopes: str) -> ReadPair:
    candidate = case.candidate
    if isinstance(candidate, Missing) or envelopes == Envelopes.KEEP:
        return ReadPair(case)
    forms, notes = detect_envelopes([case.expected], [candidate])
    expected = forms.expected.separate(case.expected, candidate).document
    candidate = forms.candidate.separate(candidate, case.expected).document
    return ReadPair(case._replace(expected=expected, candidate=candidate), tuple(notes))


@contextmanager
def _located(name: str) -> Iterator[None]:
    """Name the argument in an error about its value."""
    try:
        yield
    except DataError as error:
        raise with_location(error, Location(name)) from error.__cause__


def check_ready(settings: Settings) -> None:
    """Raise an error for providers, functions and a safety judge that cannot be used."""
    ProviderSet(settings.rules).check_ready()
    if settings.safety is not None:
        check_safety(settings.safety)


def compare_case(settings: Settings, case: Case) -> CaseResult:
    """Compare one pair with resolved settings."""
    plan = compile_plan(settings.rules)
    if settings.safety is None:
        return CaseProcessor(plan, settings.convention).process([case])[0]
    with open_safety(settings.safety) as safety:
        return CaseProcessor(plan, settings.convention, safety=safety).process([case])[0]


def compare_read(settings: Settings, pair: ReadPair) -> CaseResult:
    """Compare two documents with resolved settings; the result has the notes about them."""
    return replace(compare_case(settings, pair.case), notes=pair.notes)


@dataclass(frozen=True, slots=True)
class ManyResult:
    """The comparison of every candidate with the expected value, and of the candidates.

    Attributes:
        results: The result of each candidate.
        ranking: The order of the candidates from best to worst.
        consistency: The mean agreement over all fields; `None` with a single candidate.
        agreement: The share of pairs of candidates that agree, by field.
    """

    results: tuple[CaseResult, ...]
    ranking: Ranking
    consistency: float | None
    agreement: Mapping[str, float]
    _settings: Settings = dataclasses.field(repr=False, compare=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about all candidates, such as configured paths that no document has."""
        warnings = warnings_of(self._settings, *self.results)
        if failed := sum(result.stats.failed for result in self.results):
            text = f"{failed} of {plural(len(self.results), 'candidate')} failed and have no score"
            warnings = (
                f"{text}; they are ranked last, and best, mean and deviation leave them out",
                *warnings,
            )
        return warnings

    @property
    def best(self) -> CaseResult:
        """The result with the highest score; the first if several have it."""
        return self.results[self.ranking.order[0]]

    def to_dict(self) -> JsonObject:
        """Return the results as JSON."""
        return {
            "order": list(self.ranking.order),
            "ranks": list(self.ranking.ranks),
            "best": self.ranking.best,
            "mean": self.ranking.mean,
            "deviation": self.ranking.deviation,
            "consistency": self.consistency,
            "agreement": dict(self.agreement),
            "warnings": list(self.warnings),
            "results": [result.to_dict() for result in self.results],
        }


@checked
def compare_many(
    expected: object,
    candidates: Iterable[object],
    **options: Unpack[CompareOptions],
) -> ManyResult:
    """Compare several candidates with the expected value and with each other.

    Args:
        expected: The expected value, as for `compare`.
        candidates: The candidates, each as for `compare`, also as text.
        **options: Options as for `compare`; `allow_code` is needed for functions in a rules file.

    >>> import fieldmark as fm
    >>> ranked = fm.compare_many({"total": 5}, [{"total": 6}, {"total": 5}, {"total": 5}])
    >>> ranked.ranking.order, ranked.consistency
    ((1, 2, 0), 0.3333333333333333)
    """
    settings, envelopes = read_options(options)
    check_ready(settings)
    documents = ensure_documents(candidates, "candidates", "a list of documents")
    named = {f"candidates[{index}]": document for index, document in enumerate(documents)}
    read = read_pairs(expected, named, envelopes)
    cases = [pair.case for pair in read]
    results = tuple(compare_read(settings, pair) for pair in read)
    # In a comparison of two candidates, neither is the ground truth, and both were judged.
    judged_settings, settings = settings, replace(settings, safety=None)
    if settings.rules.scope is Scope.TRUTH:
        settings = replace(settings, rules=replace(settings.rules, scope=Scope.UNION))
    pairs = [
        # A candidate that could not be read is empty.
        _agreement_outcomes(
            compare_case(
                settings,
                second._replace(expected=None if first.candidate is MISSING else first.candidate),
            )
        )
        for first, second in combinations(cases, 2)
    ]
    return ManyResult(
        results,
        ranking_of([result.score for result in results]),
        consistency(pairs),
        agreement(pairs),
        judged_settings,
    )


def _agreement_outcomes(pair: CaseResult) -> list[FieldOutcome]:
    """Return the fields of two candidates; equal values agree with any comparator."""
    records: list[FieldOutcome] = []
    for record, field in zip(pair.outcomes.records(pair.attributes), pair.fields, strict=True):
        first, second = field.expected, field.candidate
        same = first is not MISSING and second is not MISSING and equal(first, second)
        agree = same and record.outcome is not Outcome.IGNORED
        records.append(record._replace(outcome=Outcome.MATCH) if agree else record)
    return records
