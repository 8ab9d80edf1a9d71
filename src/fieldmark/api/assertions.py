"""Assertions about extractions, for tests."""

from __future__ import annotations

from typing import Unpack

from fieldmark.api.arguments import checked
from fieldmark.api.compare import compare
from fieldmark.model.case import Verdict
from fieldmark.report.mistakes_text import mistakes_text
from fieldmark.run.run_options import CompareOptions
from fieldmark.values.presence import is_present
from fieldmark.wire.case_result import CaseResult
from fieldmark.wire.known_outcomes import KnownOutcomes, outcomes_of

__all__ = ["assert_extraction", "failure_of"]


@checked
def assert_extraction(
    candidate: object,
    expected: object,
    **options: Unpack[CompareOptions],
) -> CaseResult:
    """Raise `AssertionError` if a candidate has a mistake; the message lists them with values.

    The arguments are those of `compare`, whose result is returned if the test passes. A comparison
    of nothing fails too: a test whose rules ignore every field tests nothing.

    >>> import fieldmark as fm
    >>> fm.assert_extraction({"total": 12}, {"total": 10})
    Traceback (most recent call last):
    AssertionError: 1 of 1 field is wrong, score 0.000
      field  outcome      expected  found
      total  wrong value  10        12
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    case = compare(expected, candidate, **options)
    if failure := failure_of(case):
        raise AssertionError(failure)
    return case


def failure_of(case: CaseResult, known: KnownOutcomes | None = None) -> str:
    """Return why a case fails a test, or an empty string.

    A case fails unless its verdict is pass or all of its mistakes are known. A case that could not
    be evaluated, or in which nothing was compared, fails in any case.
    """
    found = outcomes_of(case)
    if found is None:
        return f"could not be evaluated\n{mistakes_text(case)}"
    if not case.evaluator_results and _compared_nothing(case):
        return "no field was compared: check the scope and the ignored fields of the rules"
    if case.verdict is Verdict.PASS or (found and known is not None and not found - known):
        return ""
    accepted = {} if known is None else known.fields
    paths = [path for path, outcome in found.fields.items() if accepted.get(path) == outcome]
    return mistakes_text(case, frozenset(paths))


def _compared_nothing(case: CaseResult) -> bool:
    """Whether no field was compared, although one of the documents has a value."""
    if any(each.outcome != "ignored" for each in case.iter_fields()):
        return False
    return any(
        is_present(side) and side not in ({}, []) for side in (case.expected, case.candidate)
    )
