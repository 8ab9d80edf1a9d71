"""Compare two JSON values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fieldmark.data.json_documents import ensure_json
from fieldmark.data.rows import with_location
from fieldmark.errors import DataError, Location
from fieldmark.model.case import Case
from fieldmark.model.json import JsonValue
from fieldmark.plan import compile_plan
from fieldmark.run.partition_worker import CaseProcessor
from fieldmark.run.provider_set import ProviderSet
from fieldmark.run.settings import RulesLike, Settings, resolve_settings
from fieldmark.wire.case_result import CaseResult

__all__ = ["compare", "compare_under", "json_of"]


def compare(
    expected: JsonValue,
    candidate: JsonValue,
    *,
    rules: RulesLike = None,
    convention: str = "confusion",
    options: Mapping[str, JsonValue] | None = None,
) -> CaseResult:
    """Compare a candidate with the truth, field by field.

    >>> import fieldmark as fm
    >>> fm.compare({"total": 100.0}, {"total": 100.02}, rules={
    ...     "total": {"match": "numeric_tolerance", "tolerance": 0.05}}).score
    1.0
    """
    settings = resolve_settings(rules, convention=convention, options=options)
    ProviderSet(settings.rules).check_ready()
    return compare_under(settings, *json_of({"expected": expected, "candidate": candidate}))


def json_of(documents: Mapping[str, JsonValue]) -> Iterator[JsonValue]:
    """Documents that are JSON in every part; one that cannot be is refused by its name."""
    for name, document in documents.items():
        try:
            yield ensure_json(document)
        except DataError as error:
            raise with_location(error, Location(name)) from None


def compare_under(settings: Settings, expected: JsonValue, candidate: JsonValue) -> CaseResult:
    """Compare one pair under settings that were made before."""
    plan = compile_plan(settings.rules)
    case = Case("1", expected, candidate)
    (result,) = CaseProcessor(plan, settings.convention).process([case])
    return result
