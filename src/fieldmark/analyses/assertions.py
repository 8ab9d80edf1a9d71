"""Assertions about extractions, for tests."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, Unpack

from fieldmark.analyses.arguments import checked
from fieldmark.analyses.compare import compare_pair
from fieldmark.model.case import Verdict
from fieldmark.model.json import MISSING
from fieldmark.report.exports.common import is_mistake, json_text, mistakes_of
from fieldmark.report.html.value_encoding import truncate
from fieldmark.report.tables import input_text, number, outcome_text, score_text
from fieldmark.runs.case_result import CaseResult, FieldResult
from fieldmark.runs.known_outcomes import KnownOutcomes, outcomes_of
from fieldmark.runs.run_options import CompareOptions
from fieldmark.runs.warnings import is_required, missing_in_pair
from fieldmark.values.escape import visible
from fieldmark.values.presence import is_present
from fieldmark.values.text import plural

_MAX_FIELDS: Final = 50
_MAX_MISSES: Final = 10
_MAX_VALUE: Final = 120
_MAX_PATH: Final = 200
_MAX_COLUMN: Final = 48
"""A longer cell does not widen its column."""
_TITLES: Final = ("field", "outcome", "expected", "found")


@checked
def assert_extraction(
    expected: object,
    candidate: object,
    **options: Unpack[CompareOptions],
) -> CaseResult:
    """Raise `AssertionError` if a candidate has a mistake; the message lists them with values.

    The result of `compare` is returned if the test passes. A comparison without compared fields
    fails too, because a test whose rules ignore every field tests nothing. So does a required path
    of the rules that neither document has, because it may be misspelled.

    Args:
        expected: The correct document.
        candidate: The extracted document.
        **options: The options of `compare`, listed below.

    >>> import fieldmark as fm
    >>> fm.assert_extraction({"total": 10}, {"total": 12})
    Traceback (most recent call last):
    AssertionError: 1 of 1 field is wrong, score 0.000
      field  outcome      expected  found
      total  wrong value  10        12
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    case = compare_for_test(expected, candidate, **options)
    if failure := failure_of(case):
        raise AssertionError(failure)
    return case


def compare_for_test(
    expected: object, candidate: object, **options: Unpack[CompareOptions]
) -> CaseResult:
    """Compare two documents; a required path of the rules that neither has fails the test."""
    __tracebackhide__ = True
    settings, case = compare_pair(expected, candidate, **options)
    required = [rule.path for rule in settings.rules.fields if is_required(rule)]
    if missing := missing_in_pair(case.case, required):
        raise AssertionError(", ".join(map(str, missing)))
    return case


def failure_of(case: CaseResult, known: KnownOutcomes | None = None) -> str:
    """Return why a case fails a test, or an empty string.

    A case fails unless its verdict is pass or all of its mistakes are known. A case that could not
    be evaluated, or without compared values, fails in any case.
    """
    actual = outcomes_of(case)
    if actual is None:
        return f"could not be evaluated\n{_mistakes_text(case)}"
    all_ignored = all(field.outcome == "ignored" for field in case.iter_fields())
    if all_ignored and not case.evaluator_results:
        sides = (case.expected, case.candidate)
        if any(is_present(side) and side not in ({}, []) for side in sides):
            return "no field was compared: check the scope and the ignored fields of the rules"
    if case.verdict is Verdict.PASS or (actual and known is not None and not actual - known):
        return ""
    accepted = {} if known is None else known.fields
    paths = [path for path, outcome in actual.fields.items() if accepted.get(path) == outcome]
    return _mistakes_text(case, frozenset(paths))


def _mistakes_text(case: CaseResult, known: Collection[str] = ()) -> str:
    """Return the verdict on a case and its mistakes, except at the `known` paths."""
    compared = sum(field.outcome != "ignored" for field in case.iter_fields())
    mistakes = list(mistakes_of(case))
    unknown = [field for field in mistakes if field.path not in known]
    failed_fields = sum(field.outcome == "error" for field in mistakes)
    wrong = len(mistakes) - failed_fields
    head = f"{wrong} of {plural(compared, 'field')} {'is' if wrong == 1 else 'are'} wrong"
    if failed_fields:
        head = f"{failed_fields} of {plural(compared, 'field')} could not be compared" + (
            f", {wrong} {'is' if wrong == 1 else 'are'} wrong" if wrong else ""
        )
    failed = sum(result.score.verdict is not Verdict.PASS for result in case.evaluator_results)
    if failed and not mistakes:  # evaluators have their own rules
        head = f"{failed} of {plural(len(case.evaluator_results), 'evaluator')} did not pass"
    lines = [f"{head}, score {score_text(case.score, vacuous=case.vacuous)}"]
    if case.input != "ok":
        note = case.case.note
        lines.append(input_text(case.input) + (f": {_visible(note, 500)}" if note else ""))
    if unknown:
        lines += _aligned([_TITLES, *map(_cells, unknown[:_MAX_FIELDS])])
    if (more := len(unknown) - _MAX_FIELDS) > 0:
        lines.append(f"  … and {more:,} more")
    if len(unknown) < len(mistakes):
        lines.append(f"  and {plural(len(mistakes) - len(unknown), 'known mistake')}")
    lines += _evaluators(case)
    if not mistakes and not case.evaluator_results:
        lines += [f"  {_visible(miss, 500)}" for miss in case.misses[:_MAX_MISSES]]
    return "\n".join(line.rstrip() for line in lines)


def _cells(field: FieldResult) -> tuple[str, ...]:
    path = field.path
    if field.candidate_path not in ("", path) and is_mistake(field):
        path = f"{path} (found at {field.candidate_path})"
    outcome = outcome_text(field.outcome)
    if field.similarity is not None:
        outcome += f", similarity {number(field.similarity)}"
    if field.note:
        outcome += f"; {field.note}"
    sides = (field.expected, field.candidate)
    values = ("" if side is MISSING else _visible(json_text(side)) for side in sides)
    return (_visible(path, _MAX_PATH), _visible(outcome, _MAX_PATH), *values)


def _visible(text: str, length: int = _MAX_VALUE) -> str:
    return visible(truncate(text, length))


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield the rows of a table whose columns are as wide as their cells, which are not folded."""
    columns = list(zip(*rows, strict=True))
    widths = [max(len(cell) for cell in column if len(cell) <= _MAX_COLUMN) for column in columns]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))


def _evaluators(case: CaseResult) -> Iterator[str]:
    """Yield the evaluators that did not pass, with their reasons and misses."""
    for result in case.evaluator_results:
        score = result.score
        if score.verdict is Verdict.PASS:
            continue
        verdict = score.verdict or score.status
        reason = f": {_visible(score.reasoning, 500)}" if score.reasoning else ""
        yield f"  evaluator {_visible(result.name)}: {verdict}, score {number(score.score)}{reason}"
        yield from (f"    {_visible(miss, 500)}" for miss in score.misses[:_MAX_MISSES])
        if (more := len(score.misses) - _MAX_MISSES) > 0:
            yield f"    … and {more:,} more"
