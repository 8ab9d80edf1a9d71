"""Compare two JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Unpack

from fieldmark.analyses.arguments import checked
from fieldmark.data.json_parser import JsonDialect, Role
from fieldmark.data.json_rows import ensure_json
from fieldmark.data.model_text import read_candidate, read_expected
from fieldmark.errors import DataError, Location, with_location
from fieldmark.model.case import Case, CaseInput
from fieldmark.model.json import MISSING
from fieldmark.plan import compile_plan
from fieldmark.runs.case_processor import CaseProcessor
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.provider_set import ProviderSet
from fieldmark.runs.run_options import CompareOptions
from fieldmark.runs.settings import Settings, resolve_settings


@checked
def compare(
    expected: object,
    candidate: object,
    **options: Unpack[CompareOptions],
) -> CaseResult:
    """Compare a candidate with the expected value, field by field.

    Documents are JSON values, pydantic models, dataclasses, attrs classes or named tuples, and can
    contain dates, decimals and other values with a JSON equivalent. Text that is JSON, also in a
    code fence, is parsed. Text that cannot be parsed has no fields if the expected value is an
    object or a list; if it is a string, the candidate is a string too.

    Args:
        expected: The correct document.
        candidate: The extracted document.
        **options: Further options, listed below.

    >>> import fieldmark as fm
    >>> fm.compare({"total": 100.0}, {"total": 100.02}, rules={
    ...     "total": {"match": "numeric_tolerance", "tolerance": 0.05}}).score
    1.0
    """
    settings = resolve_settings(**options)
    check_ready(settings)
    (case,) = read_cases(expected, {"candidate": candidate})
    return compare_case(settings, case)


def read_cases(expected: object, candidates: Mapping[str, object]) -> list[Case]:
    """Return a case for each candidate, with documents in text parsed as in a data set.

    The error for an expected value that cannot be read, or for an object that is not JSON, names
    the argument.
    """
    with _located("expected"):
        truth = read_expected(ensure_json(expected, Role.TRUTH), JsonDialect(role=Role.TRUTH))
    cases: list[Case] = []
    for name, given in candidates.items():
        with _located(name):
            candidate = ensure_json(given)
        case = Case("1", truth, candidate)
        if isinstance(given, str) and isinstance(candidate, str):
            dialect = JsonDialect(role=Role.CANDIDATE)
            try:
                value, parsed_from = read_candidate(truth, candidate, dialect)
                case = case._replace(candidate=value, parsed_from=parsed_from)
            except DataError as error:
                unread = CaseInput.PARSE_ERROR
                case = case._replace(candidate=MISSING, input=unread, note=error.message)
        cases.append(case)
    return cases


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
        from fieldmark.runs.error_boundary import check_safety

        check_safety(settings.safety)


def compare_case(settings: Settings, case: Case) -> CaseResult:
    """Compare one pair with resolved settings."""
    plan = compile_plan(settings.rules)
    if settings.safety is None:
        return CaseProcessor(plan, settings.convention).process([case])[0]
    from fieldmark.runs.error_boundary import open_safety

    with open_safety(settings.safety) as safety:
        return CaseProcessor(plan, settings.convention, safety=safety).process([case])[0]
