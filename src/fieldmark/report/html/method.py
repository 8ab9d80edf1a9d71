"""How the figures came about: everything that a reader needs to judge or repeat them."""

from __future__ import annotations

from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.shown import ShownRun, listed, mapping, pairs_of, whole
from fieldmark.report.html.slots import cut_text

__all__ = ["evaluator_lines", "method_of"]


def method_of(run: ShownRun, *, values: bool) -> JsonObject:
    """Convention, inputs, lists, limits, what was left out, warnings; whether values are there."""
    manifest, summary = run.manifest, run.summary
    convention = mapping(summary.get("convention"))
    return {
        "convention": [
            str(convention.get("name", "")),
            whole(convention.get("version")),
            str(convention.get("comparison_sha256", "")),
            str(convention.get("counting_sha256", "")),
        ],
        "options": [_setting(pair) for pair in mapping(convention.get("options")).items()],
        "inputs": [_input(mapping(each)) for each in listed(manifest.get("inputs"))],
        "lists": [_setting(pair) for pair in mapping(manifest.get("lists")).items()],
        "limits": pairs_of(mapping(manifest.get("limits"))),
        "left_out": pairs_of(mapping(summary.get("cases"))),
        "values": values,
        "warnings": [cut_text(str(each)) for each in listed(summary.get("warnings"))],
        "evaluators": evaluator_lines(summary),
        "made": [
            ["command", str(manifest.get("command", ""))],
            ["status", str(manifest.get("status", ""))],
            ["started", str(manifest.get("started_at", ""))],
            ["finished", str(manifest.get("finished_at", ""))],
            ["fieldmark", str(manifest.get("fieldmark", ""))],
            ["Python", str(manifest.get("python", ""))],
        ],
    }


def _setting(pair: tuple[str, JsonValue]) -> JsonValue:
    name, value = pair
    return [name, _phrase(value)]


def _phrase(value: JsonValue) -> str:
    """A setting in a few words."""
    match value:
        case dict():
            return ", ".join(f"{key} {_phrase(inner)}" for key, inner in value.items())
        case list():
            return ", ".join(map(_phrase, value)) or "none"
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case _:
            return cut_text(str(value), 500)


def _input(described: JsonObject) -> JsonValue:
    return [
        str(described.get("name", "")),
        whole(described.get("bytes")),
        str(described.get("sha256", "")),
    ]


def evaluator_lines(summary: JsonObject) -> list[JsonValue]:
    """Every evaluator as name, mean score, cases scored, verdicts, errors."""
    return [_evaluator(pair) for pair in mapping(summary.get("evaluators")).items()]


def _evaluator(pair: tuple[str, JsonValue]) -> JsonValue:
    name, figures = pair[0], mapping(pair[1])
    verdicts = mapping(figures.get("verdicts"))
    return [
        name,
        figures.get("mean_score"),
        whole(figures.get("scored")),
        *(whole(verdicts.get(verdict)) for verdict in ("pass", "partial", "fail")),
        whole(figures.get("errors")),
    ]
