"""The weak slices of a run: the result of `find_slices`, for the API and reports."""

from __future__ import annotations

from dataclasses import dataclass

from fieldmark.metrics.slice_search import WeakSlice
from fieldmark.metrics.slices import slice_text
from fieldmark.model.json import JsonObject
from fieldmark.values.text import plural

__all__ = ["SliceSearch", "weak_slice_text"]


def weak_slice_text(found: WeakSlice) -> str:
    """Return a weak slice as a sentence.

    >>> weak_slice_text(WeakSlice((("vendor", "Acme"),), 41, 0.61, 0.93, 1e-9, 1e-7))
    'vendor = Acme: F1 0.61 against 0.93, 41 cases'
    """
    names = [_name(found), *(f"also {_conditions(each)}" for each in found.same)]
    f1s = f"F1 {found.f1:.2f} against {found.others:.2f}"
    return f"{', '.join(names)}: {f1s}, {plural(found.cases, 'case')}"


def _name(found: WeakSlice) -> str:
    return _conditions(found.conditions)


def _conditions(conditions: tuple[tuple[str, str], ...]) -> str:
    return " and ".join(slice_text(*each) for each in conditions)


@dataclass(frozen=True, kw_only=True)
class SliceSearch:
    """Slices that are significantly weaker than the other cases, the weakest first.

    `cases` is the number of searched cases and `tested` that of tested slices.
    """

    run: str
    slices: tuple[WeakSlice, ...]
    cases: int
    tested: int
    notes: tuple[str, ...] = ()

    def to_dict(self) -> JsonObject:
        """Return everything as JSON."""
        return {
            "format": 1,
            "run": self.run,
            "cases": self.cases,
            "tested": self.tested,
            "slices": [
                {
                    "slice": [{"key": key, "value": value} for key, value in each.conditions],
                    "name": _name(each),
                    "text": weak_slice_text(each),
                    "cases": each.cases,
                    "f1": each.f1,
                    "others_f1": each.others,
                    "p": each.p,
                    "p_adjusted": each.adjusted,
                    "attributes": [dict(weak._asdict()) for weak in each.attributes],
                    "overlap": None
                    if each.overlap is None
                    else {"text": slice_text(*each.overlap[0]), "cases": each.overlap[1]},
                }
                for each in self.slices
            ],
            "notes": list(self.notes),
        }
