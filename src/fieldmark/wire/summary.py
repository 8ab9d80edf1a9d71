"""The JSON form of a run's summary: `summary.json`, the API and the command line.

Intervals are computed and stored in different places: in the JSON form, those of an attribute are
next to its metrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Final, NamedTuple, cast

from fieldmark.metrics.gates import run_failures
from fieldmark.metrics.summary import RateVariations, Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.records import OMIT_DEFAULT, from_json, to_json, within

__all__ = ["summary_from_json", "summary_to_json"]

_NOT_IN_SLICES: Final[JsonObject] = {
    "format": Summary.FORMAT,
    "convention": None,
    "evaluators": {},
    "gates": [],
    "passed": True,
    "failures": [],
    "warnings": [],
    "structural_warnings": [],
}
"""What a slice does not have, with the values of a run that has nothing of it."""


def summary_to_json(summary: Summary) -> JsonObject:
    """Return the summary as JSON, in reading order."""
    document = _metrics_to_json(summary)
    if summary.by:
        document["slices"] = {
            name: {
                key: value
                for key, value in _metrics_to_json(each).items()
                if key not in _NOT_IN_SLICES
            }
            for name, each in summary.slices.items()
        }
        document["groups"] = {key: to_json(each) for key, each in summary.group_means().items()}
    return document


def _metrics_to_json(summary: Summary) -> JsonObject:
    document = to_json(summary)
    if summary.intervals is not None:
        for path, attribute in cast("dict[str, JsonObject]", document["attributes"]).items():
            variations = summary.intervals.attributes.get(path, RateVariations())
            attribute.update(to_json(variations))
    return document


def summary_from_json(document: JsonValue) -> Summary:
    """Parse a summary written by `summary_to_json`; an invalid one raises `ValueError`."""
    summary = _metrics_from_json(document)
    stored = cast("JsonObject", document)
    if "failures" not in stored:
        summary = replace(summary, failures=run_failures(summary.cases, summary.gates))
    slices = from_json(_Slices, stored).slices
    defaults = {**_NOT_IN_SLICES, "convention": stored["convention"]}
    parsed: dict[str, Summary] = {}
    for name, each in slices.items():
        with within("slices", name):
            parsed[name] = _metrics_from_json({**defaults, **each})
    return replace(summary, slices=parsed)


def _metrics_from_json(document: JsonValue) -> Summary:
    summary = from_json(Summary, document)
    stored = cast("JsonObject", document)
    if summary.confidence is not None:
        targets = tuple(map(float, summary.confidence.pooled.targets))
        options = replace(summary.confidence.options, precision=targets)
        summary = replace(summary, confidence=replace(summary.confidence, options=options))
    if summary.intervals is not None:
        variations: dict[str, RateVariations] = {}
        for path, each in cast("dict[str, JsonValue]", stored["attributes"]).items():
            with within("attributes", path):
                variations[path] = from_json(RateVariations, each)
        known = {path: each for path, each in variations.items() if each != RateVariations()}
        summary = replace(summary, intervals=replace(summary.intervals, attributes=known))
    return summary


class _Slices(NamedTuple):
    slices: Annotated[Mapping[str, JsonObject], OMIT_DEFAULT] = {}
