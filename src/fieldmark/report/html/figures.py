"""The figures of a run as the page shows them: verdict, gates, tiles, attributes, domains."""

from __future__ import annotations

from typing import Final

from fieldmark.metrics.worst_first import attribute_sort_key
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.report.html.case_view import ERROR_TYPES
from fieldmark.report.html.shown import Figure, figure, listed, mapping, whole
from fieldmark.values.paths import PathError, parse_path

__all__ = ["attribute_lines", "domain_lines", "gate_lines", "tiles", "verdict_of"]

_COUNTS: Final = ("tp", "tn", "fp", "fn")
_RATES: Final = ("precision", "recall", "f1", "accuracy")


def verdict_of(summary: JsonObject) -> str:
    """`pass` or `fail` by the gates, or `none` where no gate was set."""
    gates = [mapping(each) for each in listed(summary.get("gates"))]
    if not gates:
        return "none"
    return "pass" if all(gate.get("passed") is True for gate in gates) else "fail"


def gate_lines(summary: JsonObject) -> list[JsonValue]:
    """Every gate as name, kind, limit, value, passed, note; those that failed first."""
    gates = [mapping(each) for each in listed(summary.get("gates"))]
    gates.sort(key=lambda gate: gate.get("passed") is True)
    return [
        [
            str(gate.get("name", "")),
            str(gate.get("kind", "min")),
            figure(gate.get("limit")),
            figure(gate.get("value")),
            gate.get("passed") is True,
            str(gate.get("note") or ""),
        ]
        for gate in gates
    ]


def tiles(summary: JsonObject) -> list[JsonValue]:
    """The headline figures: each with its meaning and, where the summary has one, its interval."""
    quality, cases = mapping(summary.get("quality")), mapping(summary.get("cases"))
    micro = mapping(summary.get("micro"))
    total, scored = whole(cases.get("total")), whole(cases.get("scored"))
    perfect = whole(cases.get("perfect"))

    def tile(
        label: str, value: Figure, interval: str, meaning: str, **more: JsonValue
    ) -> JsonObject:
        found: JsonObject = {"label": label, "value": value, "meaning": meaning, "better": "high"}
        span = _interval(mapping(summary.get("intervals")), interval)
        return {**found, **({"interval": span} if span else {}), **more}

    return [
        tile("Macro F1", figure(summary.get("macro_f1_by_attribute")), "macro_f1_by_attribute",
             "mean over attributes"),
        tile("Micro F1", figure(micro.get("f1")), "micro_f1", "all fields pooled"),
        tile("Macro F1 by case", figure(summary.get("macro_f1_by_case")), "macro_f1_by_case",
             "mean over cases"),
        tile("Completeness", figure(quality.get("completeness")), "completeness",
             "of what was there, found"),
        tile("Hallucination", figure(quality.get("hallucination")), "hallucination",
             "of all keys, invented", better="low"),
        tile("Accuracy", figure(quality.get("accuracy")), "accuracy", "of what both have, right"),
        tile("RQS", figure(quality.get("rqs")), "rqs", "response quality score",
             most=figure(quality.get("rqs_max"))),
        tile("Perfect", _share(perfect, scored), "perfect", f"{perfect:,} of {scored:,} cases"),
        tile("Coverage", _share(scored, total), "", f"{scored:,} of {total:,} cases scored"),
        tile("Errors", whole(cases.get("errors")), "", "cases not evaluated", better="low"),
    ]  # fmt: skip


def _share(part: int, all_of: int) -> float | None:
    return part / all_of if all_of else None


def _interval(intervals: JsonObject, name: str) -> JsonValue:
    """The least and the most that a figure is likely to be, if it is known."""
    match intervals.get(name):
        case [float() | int() as low, float() | int() as high]:
            return [low, high]
        case _:
            return None


def attribute_lines(summary: JsonObject, comparators: dict[str, str]) -> list[JsonValue]:
    """Every attribute as path, counts, rates, interval, mistakes by type, errors, comparator.

    The worst first, as in every list of attributes.
    """
    attributes = mapping(summary.get("attributes"))
    lines = [_attribute(path, mapping(each), comparators) for path, each in attributes.items()]
    return list[JsonValue](line for _, line in sorted(lines, key=lambda each: each[0]))


_Line = tuple[tuple[float, int, str], JsonValue]


def _attribute(path: str, figures: JsonObject, comparators: dict[str, str]) -> _Line:
    errors = mapping(figures.get("errors_by_type"))
    mistakes = [whole(errors.get(name)) for name in ERROR_TYPES]
    failed = whole(figures.get("errors"))
    f1 = figure(figures.get("f1"))
    rank = attribute_sort_key(path, f1, sum(mistakes), failed)
    line: list[JsonValue] = [
        path,
        [whole(figures.get(name)) for name in _COUNTS],
        [figure(figures.get(name)) for name in _RATES],
        _interval(mapping(figures.get("interval")), "f1"),
        list[JsonValue](mistakes),
        failed,
        comparators.get(path, ""),
    ]
    return rank, line


def domain_lines(summary: JsonObject) -> list[JsonValue]:
    """Mistakes by the first step of their path: name, attributes, fields, mistakes by type."""
    domains: dict[str, list[int]] = {}
    for path, each in mapping(summary.get("attributes")).items():
        figures = mapping(each)
        errors = mapping(figures.get("errors_by_type"))
        sums = domains.setdefault(_first_step(path), [0] * (2 + len(ERROR_TYPES)))
        mistakes = [whole(errors.get(name)) for name in ERROR_TYPES]
        right = whole(figures.get("tp")) + whole(figures.get("tn"))
        for place, number in enumerate((1, right + sum(mistakes), *mistakes)):
            sums[place] += number
    order = sorted(domains.items(), key=lambda each: (-sum(each[1][2:]), each[0]))
    return [[name, *sums] for name, sums in order]


def _first_step(path: str) -> str:
    try:
        return str(parse_path(path).segments[0])
    except PathError:
        return path
