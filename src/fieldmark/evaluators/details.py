"""The figures behind a score, as JSON of bounded size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from fieldmark.evaluators.examine import Examined
from fieldmark.evaluators.wording import reason_of
from fieldmark.metrics.averages import macro_mean
from fieldmark.metrics.counts import cost_table
from fieldmark.metrics.options import ZeroRule
from fieldmark.metrics.rates import rates
from fieldmark.metrics.verdict import Mark
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import CELL_BITS, Outcome, Presence, fact_of
from fieldmark.model.outcomes import FieldOutcome
from fieldmark.values.canonical import canonical_text
from fieldmark.values.paths import ROOT, resolve

__all__ = [
    "MAX_EXAMPLES",
    "MAX_ROWS",
    "confusion",
    "defined",
    "metrics_by_attribute",
    "mismatches",
]

MAX_EXAMPLES: Final = 20
MAX_ROWS: Final = 100
_LONGEST_SHOWN: Final = 200
_FACT_MASK: Final = (1 << CELL_BITS) - 1
_MISSED: Final = (Mark.MISS, Mark.ERROR)

_costs = lru_cache(maxsize=64)(cost_table)


def defined(figures: Mapping[str, JsonValue]) -> JsonObject:
    """The figures that there are; what is undefined is left out.

    >>> defined({"tp": 0, "precision": None})
    {'tp': 0}
    """
    return {name: figure for name, figure in figures.items() if figure is not None}


def confusion(counts: Counts, zero: ZeroRule) -> JsonObject:
    """The four counts and those of their rates that are defined."""
    return defined({**counts._asdict(), **rates(counts, zero)._asdict()})


def metrics_by_attribute(
    examined: Examined, named: Callable[[str], str | None] = lambda path: path
) -> tuple[JsonObject, JsonObject]:
    """The confusion of every attribute, and its sums and means over all of them.

    `named` says what an attribute is called here, or that it is none of ours.
    """
    counting = examined.convention.counting
    counts, errors = _counted(examined, named)
    metrics: JsonObject = {}
    for name, own in counts.items():
        failed: JsonObject = {"errors": errors[name]} if errors[name] else {}
        metrics[name] = {**confusion(own, counting.zero), **failed}
    mean = macro_mean(counts.values(), counting.zero)
    total = sum(counts.values(), Counts())
    summary = {
        **{f"total_{key}": number for key, number in total._asdict().items()},
        "macro_precision": mean.precision,
        "macro_recall": mean.recall,
        "macro_f1": mean.f1,
        "vacuous": mean.vacuous or None,
    }
    return metrics, defined(summary)


def _counted(
    examined: Examined, named: Callable[[str], str | None]
) -> tuple[dict[str, Counts], Counter[str]]:
    """The counts of every attribute in the order of the walk, and its failed comparisons."""
    costs = _costs(examined.convention.counting)
    counts: dict[str, Counts] = {}
    errors: Counter[str] = Counter()
    for cell in examined.block.cells:
        outcome = fact_of(cell).outcome
        name = named(examined.table.path(cell >> CELL_BITS))
        if outcome is Outcome.IGNORED or name is None:
            continue
        counts[name] = counts.get(name, Counts()) + costs[cell & _FACT_MASK]
        errors[name] += outcome is Outcome.ERROR
    return counts, errors


def mismatches(
    examined: Examined,
    *,
    limit: int,
    values: bool,
    named: Callable[[str], str] = lambda path: path,
) -> JsonObject:
    """Some of the fields that are wrong, and how many there are in all."""
    missed = [each.record for each in examined.fields if each.mark in _MISSED]
    rows: list[JsonValue] = [
        _mismatch(examined, record, named(record.path), values=values) for record in missed[:limit]
    ]
    return {"mismatches": rows, "mismatches_total": len(missed)}


def _mismatch(examined: Examined, record: FieldOutcome, path: str, *, values: bool) -> JsonObject:
    said = record.comparison
    row = defined(
        {
            "path": path,
            "outcome": record.outcome.label,
            "reason": reason_of(record),
            "similarity": said.similarity if said else None,
        }
    )
    if not values:
        return row
    sides = (
        ("expected", examined.expected, record.path, record.expected_presence),
        ("candidate", examined.candidate, record.candidate_path, record.candidate_presence),
    )
    for side, document, place, presence in sides:
        value = MISSING if presence is Presence.ABSENT else _at(document, place)
        if value is not MISSING:
            row[side] = _shown(value)
    return row


def _at(document: JsonValue | Missing, path: str) -> JsonValue | Missing:
    if document is MISSING:
        return MISSING
    found = resolve(document, path)
    return document if found is MISSING and path == ROOT else found


def _shown(value: JsonValue) -> JsonValue:
    """The value itself, or the beginning of its text if that is long."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, list | dict):
        text = canonical_text(value).decode("utf-8", "replace")
    else:
        return value
    return value if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
