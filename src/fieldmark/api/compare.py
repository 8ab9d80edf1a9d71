"""Compare two JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fieldmark.data.json_documents import ensure_json
from fieldmark.data.rows import with_location
from fieldmark.errors import DataError, Location
from fieldmark.model.case import Case
from fieldmark.model.json import JsonValue
from fieldmark.plan import compile_plan
from fieldmark.run.case_processor import CaseProcessor
from fieldmark.run.provider_set import ProviderSet
from fieldmark.run.settings import RulesLike, Settings, resolve_settings
from fieldmark.wire.case_result import CaseResult

__all__ = ["compare", "compare_with_settings", "ensure_json_documents"]


def compare(
    expected: JsonValue,
    candidate: JsonValue,
    *,
    rules: RulesLike = None,
    convention: str | None = None,
    options: Mapping[str, JsonValue] | None = None,
) -> CaseResult:
    """Compare a candidate with the expected value, field by field.

    The default convention is that of the rules, otherwise `confusion`.

    >>> import fieldmark as fm
    >>> fm.compare({"total": 100.0}, {"total": 100.02}, rules={
    ...     "total": {"match": "numeric_tolerance", "tolerance": 0.05}}).score
    1.0
    """
    settings = resolve_settings(rules, convention=convention, options=options)
    ProviderSet(settings.rules).check_ready()
    return compare_with_settings(
        settings, *ensure_json_documents({"expected": expected, "candidate": candidate})
    )


def ensure_json_documents(documents: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    """Yield the documents as JSON; the error for a document that is not JSON names it."""
    for name, document in documents.items():
        try:
            yield ensure_json(document)
        except DataError as error:
            raise with_location(error, Location(name)) from None


def compare_with_settings(
    settings: Settings, expected: JsonValue, candidate: JsonValue
) -> CaseResult:
    """Compare one pair with resolved settings."""
    plan = compile_plan(settings.rules)
    case = Case("1", expected, candidate)
    (result,) = CaseProcessor(plan, settings.convention).process([case])
    return result
