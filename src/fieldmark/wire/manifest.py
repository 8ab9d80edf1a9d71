"""The manifest of a run: what it was made from, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fieldmark.metrics.headline import HEADLINE_FIGURES
from fieldmark.metrics.summary import AppliedConvention, Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.wire.json_fields import JsonFields
from fieldmark.wire.stored_format import FORMAT, check_format
from fieldmark.wire.summary import convention_from_json, convention_to_json

__all__ = [
    "Headline",
    "Manifest",
    "ManifestInput",
    "headline_of",
    "manifest_from_json",
    "manifest_to_json",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestInput:
    """An input of a run; data in memory has no hash."""

    name: str
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """What a list of runs shows, and the sizes of the files that it was taken from."""

    cases: int
    figures: Mapping[str, float | None]
    summary_bytes: int
    results_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a run was made from: versions, convention, providers, inputs, limits, options.

    `options` are the run options that a resumed run starts with, if the run can be resumed by name
    alone. `segment_size` is how many cases are written and acknowledged together.
    """

    command: str
    fieldmark: str
    python: str
    convention: AppliedConvention
    eval: str = ""
    providers: tuple[JsonObject, ...] = ()
    inputs: tuple[ManifestInput, ...] = ()
    limits: JsonObject = field(default_factory=dict)
    weights: tuple[tuple[str, float, bool], ...] = ()
    evaluators: Mapping[str, str] = field(default_factory=dict)
    options: JsonObject | None = None
    segment_size: int = 1
    status: str = "running"
    started_at: str = ""
    finished_at: str = ""
    accepted_changes: tuple[str, ...] = ()
    rescored_from: JsonObject | None = None
    lists: JsonObject = field(default_factory=dict)
    spent: tuple[JsonObject, ...] = ()
    headline: Headline | None = None


def headline_of(summary: Summary, *, summary_bytes: int, results_bytes: int) -> Headline:
    """The headline of a finished run."""
    return Headline(
        cases=summary.cases.total,
        figures={
            "mean_score": summary.mean_score,
            "macro_f1_by_attribute": summary.macro_f1_by_attribute,
            "macro_f1_by_case": summary.macro_f1_by_case,
            "micro_f1": summary.micro.f1,
        },
        summary_bytes=summary_bytes,
        results_bytes=results_bytes,
    )


def manifest_to_json(manifest: Manifest) -> JsonObject:
    """The manifest as `manifest.json` stores it; what does not apply is left out."""
    headline = manifest.headline
    document: dict[str, JsonValue] = {
        "format": FORMAT,
        "command": manifest.command,
        "eval": manifest.eval,
        "status": manifest.status,
        "started_at": manifest.started_at,
        "finished_at": manifest.finished_at,
        "fieldmark": manifest.fieldmark,
        "python": manifest.python,
        "convention": convention_to_json(manifest.convention),
        "providers": list(manifest.providers),
        "inputs": [_input_to_json(each) for each in manifest.inputs],
        "limits": manifest.limits,
        "weights": [list(each) for each in manifest.weights],
        "evaluators": dict(manifest.evaluators),
        "options": manifest.options,
        "segment_size": manifest.segment_size,
        "accepted_changes": list(manifest.accepted_changes),
        "rescored_from": manifest.rescored_from,
        "headline": None
        if headline is None
        else {
            "cases": headline.cases,
            **headline.figures,
            "bytes": [headline.summary_bytes, headline.results_bytes],
        },
        "lists": manifest.lists,
        "spent": list(manifest.spent),
    }
    always = ("providers", "inputs")
    return {k: v for k, v in document.items() if k in always or v not in ("", None, [], {})}


def _input_to_json(each: ManifestInput) -> JsonObject:
    known: JsonObject = {"name": each.name}
    if each.bytes is not None:
        known["bytes"] = each.bytes
    if each.sha256 is not None:
        known["sha256"] = each.sha256
    return known


def manifest_from_json(document: JsonValue) -> Manifest:
    """A stored manifest; a wrong shape or another format raises `ValueError`."""
    fields = JsonFields(document)
    check_format(fields.value)
    return Manifest(
        command=fields.text("command"),
        fieldmark=fields.text("fieldmark"),
        python=fields.text("python"),
        convention=convention_from_json(fields.object("convention").value),
        eval=_optional_text(fields, "eval"),
        providers=_objects(fields, "providers"),
        inputs=tuple(map(_input_from_json, _array_of_objects(fields, "inputs"))),
        limits=_object(fields, "limits"),
        weights=tuple(map(_weight, fields.array("weights") if "weights" in fields else ())),
        evaluators={name: str(each) for name, each in _object(fields, "evaluators").items()},
        options=fields.object("options").value if "options" in fields else None,
        segment_size=fields.integer("segment_size"),
        status=fields.text("status"),
        started_at=_optional_text(fields, "started_at"),
        finished_at=_optional_text(fields, "finished_at"),
        accepted_changes=fields.texts("accepted_changes") if "accepted_changes" in fields else (),
        rescored_from=fields.object("rescored_from").value if "rescored_from" in fields else None,
        lists=_object(fields, "lists"),
        spent=_objects(fields, "spent"),
        headline=headline_from_json(fields.object("headline")) if "headline" in fields else None,
    )


def headline_from_json(fields: JsonFields) -> Headline:
    """The headline of a manifest."""
    summary_bytes, results_bytes = fields.interval("bytes")
    return Headline(
        cases=fields.integer("cases"),
        figures={name: fields.optional_number(name) for name in HEADLINE_FIGURES},
        summary_bytes=int(summary_bytes),
        results_bytes=int(results_bytes),
    )


def _input_from_json(fields: JsonFields) -> ManifestInput:
    return ManifestInput(
        name=fields.text("name"),
        bytes=fields.integer("bytes") if "bytes" in fields else None,
        sha256=fields.text("sha256") if "sha256" in fields else None,
    )


def _weight(stored: JsonValue) -> tuple[str, float, bool]:
    match stored:
        case [str(path), float() | int() as weight, bool(required)]:
            return path, float(weight), required
        case _:
            raise ValueError("a weight is a path, a number and whether the field is required")


def _optional_text(fields: JsonFields, key: str) -> str:
    return fields.text(key) if key in fields else ""


def _object(fields: JsonFields, key: str) -> JsonObject:
    return fields.object(key).value if key in fields else {}


def _array_of_objects(fields: JsonFields, key: str) -> tuple[JsonFields, ...]:
    return tuple(fields.array_of_objects(key)) if key in fields else ()


def _objects(fields: JsonFields, key: str) -> tuple[JsonObject, ...]:
    return tuple(each.value for each in _array_of_objects(fields, key))
