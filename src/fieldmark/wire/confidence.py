"""The JSON form of the confidences of a run: part of its summary, and threshold files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from fieldmark.errors import OptionError
from fieldmark.metrics.confidence import (
    ConfidenceFigures,
    ConfidenceSummary,
    CurvePoint,
    ReliabilityBin,
    StraightThrough,
    precision_key,
)
from fieldmark.model.confidence import ConfidenceOptions
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.wire.json_fields import FORMAT, JsonFields, check_format

__all__ = ["ThresholdSet", "confidence_from_json", "confidence_to_json"]

_READ: Final = ("value", "confidence", "key", "scale")
_COUNTS: Final = ("fields", "without_confidence", "wrong")
_RATES: Final = ("precision", "mean_confidence", "auroc", "ece", "brier")
_TARGET_RATES: Final = ("threshold", "lower_bound", "precision", "coverage", "document_share")
_TARGET_COUNTS: Final = ("accepted", "wrong", "documents", "perfect")
_OF_DOCUMENTS: Final = frozenset({"documents", "document_share", "perfect"})


def confidence_to_json(summary: ConfidenceSummary) -> JsonObject:
    """Return the figures of all fields, then those of each attribute.

    The figures for a precision are under its number, such as `0.99`.
    """
    return {
        **_figures_to_json(summary.pooled, documents=True),
        "documents": summary.documents,
        "read": _options_to_json(summary.options),
        "attributes": {
            path: _figures_to_json(each, documents=False)
            for path, each in summary.attributes.items()
        },
    }


def _figures_to_json(figures: ConfidenceFigures, *, documents: bool) -> JsonObject:
    return {
        **{name: getattr(figures, name) for name in (*_COUNTS, *_RATES)},
        **{
            key: _target_to_json(each, documents=documents) for key, each in figures.targets.items()
        },
        "bins": [
            {
                "fields": each.fields,
                "confidence": each.confidence,
                "precision": each.precision,
                "interval": None if each.interval is None else list(each.interval),
            }
            for each in figures.bins
        ],
        "curve": [list(each) for each in figures.curve],
    }


def _target_to_json(target: StraightThrough, *, documents: bool) -> JsonObject:
    names = [each.name for each in fields(target) if each.name not in ("target", "note")]
    shown: JsonObject = {
        name: getattr(target, name) for name in names if documents or name not in _OF_DOCUMENTS
    }
    return {**shown, "note": target.note} if target.note else shown


def confidence_from_json(found: JsonFields) -> ConfidenceSummary:
    """Parse the figures of a summary; invalid ones raise `ValueError`."""
    pooled = _figures_from_json(found)
    targets = tuple(each.target for each in pooled.targets.values())
    return ConfidenceSummary(
        options=replace(_options_from_json(found.object("read")), precision=targets),
        pooled=pooled,
        documents=found.integer("documents"),
        attributes={path: _figures_from_json(each) for path, each in found.objects("attributes")},
    )


def _figures_from_json(found: JsonFields) -> ConfidenceFigures:
    targets = [_target_of(key) for key in found.value]
    return ConfidenceFigures(
        **_counts(found),
        **{name: found.optional_number(name) for name in _RATES},  # type: ignore[arg-type]
        bins=tuple(_bin_from_json(each) for each in found.array_of_objects("bins")),
        curve=tuple(map(_point_from_json, found.array("curve"))),
        targets={
            precision_key(each): _target_from_json(each, found.object(precision_key(each)))
            for each in targets
            if each is not None
        },
    )


def _options_to_json(options: ConfidenceOptions) -> JsonObject:
    """Return how confidences are read; the precision is stored elsewhere."""
    read = ((name, getattr(options, name)) for name in _READ)
    return {name: value for name, value in read if value is not None}


def _options_from_json(found: JsonFields) -> ConfidenceOptions:
    def text(name: str) -> str | None:
        return found.text(name) if name in found.value else None

    try:
        return ConfidenceOptions(
            value=text("value"),
            confidence=text("confidence"),
            key=found.text("key"),
            scale=_optional_integer(found, "scale"),
        )
    except OptionError as error:
        raise ValueError(str(error)) from error


def _target_of(key: str) -> float | None:
    """Return the precision that a key names, if it is one."""
    try:
        target = float(key)
    except ValueError:
        return None
    return target if 0 < target < 1 and precision_key(target) == key else None


def _target_from_json(target: float, found: JsonFields) -> StraightThrough:
    return StraightThrough(
        target=target,
        **{name: _optional_rate(found, name) for name in _TARGET_RATES},  # type: ignore[arg-type]
        **{name: _optional_integer(found, name) for name in _TARGET_COUNTS},
        note=found.optional(found.text, "note", ""),
    )


def _counts(found: JsonFields) -> dict[str, int]:
    return {name: found.integer(name) for name in _COUNTS}


def _optional_rate(found: JsonFields, name: str) -> float | None:
    return found.optional(found.optional_number, name, None)


def _optional_integer(found: JsonFields, name: str) -> int | None:
    return None if found.value.get(name) is None else found.integer(name)


def _bin_from_json(found: JsonFields) -> ReliabilityBin:
    return ReliabilityBin(
        found.integer("fields"),
        found.number("confidence"),
        found.number("precision"),
        None if found.value.get("interval") is None else found.interval("interval"),
    )


def _point_from_json(value: JsonValue) -> CurvePoint:
    match value:
        case [int() | float() as threshold, int() | float() as coverage, int() | float() as share]:
            return CurvePoint(float(threshold), float(coverage), float(share))
        case _:
            raise ValueError("a point of a curve must have a threshold, a coverage and a precision")


# --- thresholds -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdSet:
    """The lowest confidence at which the values of each attribute are accepted.

    `run` is the run that they were chosen with, for this `precision`: one threshold for all
    attributes, or one for each (`by_attribute`). An attribute without a threshold has `None`, and
    `note` says why there is none at all. `options` say how confidences are read.
    """

    precision: float
    run: str
    by_attribute: bool
    options: ConfidenceOptions
    attributes: Mapping[str, float | None]
    note: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether there is no threshold, so that all values must be reviewed."""
        return all(each is None for each in self.attributes.values())

    def to_dict(self) -> JsonObject:
        """Return the content of a threshold file."""
        return {
            "format": FORMAT,
            "precision": self.precision,
            "by": "attribute" if self.by_attribute else "all",
            "run": self.run,
            "read": _options_to_json(self.options),
            "thresholds": dict(self.attributes),
            **({"note": self.note} if self.note else {}),
        }

    @classmethod
    def from_dict(cls, value: JsonValue) -> ThresholdSet:
        """Parse a threshold file; an invalid one raises `ValueError`."""
        found = JsonFields(value)
        check_format(found.value)
        by = found.text("by")
        if by not in ("attribute", "all"):
            raise ValueError("by must be one of: attribute, all")
        given = found.object("thresholds")
        thresholds = {path: given.optional_number(path) for path in given.value}
        for path, each in thresholds.items():
            if each is not None and not 0 <= each <= 1:
                raise ValueError(f"thresholds.{path} must be null or between 0 and 1")
        return cls(
            precision=found.number("precision"),
            run=found.text("run"),
            by_attribute=by == "attribute",
            options=_options_from_json(found.object("read")),
            attributes=thresholds,
            note=found.optional(found.text, "note", ""),
        )
