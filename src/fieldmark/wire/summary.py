"""The JSON form of a run's summary, as `summary.json`, the API and the command line show it."""

from __future__ import annotations

from typing import Final

from fieldmark.metrics.averages import MacroMean
from fieldmark.metrics.gates import GateKind, GateResult
from fieldmark.metrics.quality import QualityBuckets
from fieldmark.metrics.summary import (
    AppliedConvention,
    AttributeSummary,
    EvaluatorSummary,
    Macro,
    Micro,
    QualitySummary,
    RunIntervals,
    Summary,
)
from fieldmark.metrics.tally import CaseTotals, VerdictCounts
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.model.rule import Depth
from fieldmark.wire.json_fields import JsonFields
from fieldmark.wire.stored_format import FORMAT, check_format

__all__ = [
    "attribute_to_json",
    "convention_from_json",
    "convention_to_json",
    "evaluator_to_json",
    "gate_to_json",
    "intervals_to_json",
    "summary_from_json",
    "summary_to_json",
    "with_intervals",
]

_COUNTS: Final = ("tp", "tn", "fp", "fn")
_RATES: Final = ("precision", "recall", "f1")
_QUALITY: Final = ("completeness", "hallucination", "accuracy", "safety", "rqs", "rqs_max")
_VERDICTS: Final = {"pass": "passed", "partial": "partial", "fail": "failed"}


def summary_to_json(summary: Summary) -> JsonObject:
    """The summary as JSON, in the order in which people read it."""
    figures: JsonObject = {
        "format": FORMAT,
        "convention": convention_to_json(summary.convention),
        "cases": dict(summary.cases._asdict()),
        "verdicts": _verdicts_to_json(summary.verdicts),
        "micro": _micro_to_json(summary.micro),
        "macro": {
            "by_attribute": _mean_to_json(summary.macro.by_attribute),
            "by_case": _mean_to_json(summary.macro.by_case),
        },
        "macro_f1_by_attribute": summary.macro_f1_by_attribute,
        "macro_f1_by_case": summary.macro_f1_by_case,
        "mean_score": summary.mean_score,
        "consistency": summary.consistency,
        "attributes": {path: attribute_to_json(each) for path, each in summary.attributes.items()},
        "errors_by_type": dict(summary.errors_by_type._asdict()),
        "quality": _quality_to_json(summary.quality),
        "evaluators": {name: evaluator_to_json(each) for name, each in summary.evaluators.items()},
        **({"detection": summary.detection} if summary.detection else {}),
        **({"usage": summary.usage} if summary.usage else {}),
        "gates": [gate_to_json(gate) for gate in summary.gates],
        "warnings": list(summary.warnings),
    }
    return figures if summary.intervals is None else with_intervals(figures, summary.intervals)


def summary_from_json(value: JsonObject) -> Summary:
    """The summary that `summary_to_json` wrote; a wrong shape raises `ValueError`."""
    fields = JsonFields(value)
    check_format(value)
    macro, attributes = fields.object("macro"), dict(fields.objects("attributes"))
    return Summary(
        convention=convention_from_json(fields.object("convention").value),
        cases=CaseTotals(*map(fields.object("cases").integer, CaseTotals._fields)),
        verdicts=_verdicts_from_json(fields.object("verdicts")),
        micro=_micro_from_json(fields.object("micro")),
        macro=Macro(
            by_attribute=_mean_from_json(macro.object("by_attribute")),
            by_case=_mean_from_json(macro.object("by_case")),
        ),
        mean_score=fields.optional_number("mean_score"),
        consistency=fields.optional_number("consistency"),
        attributes={path: _attribute_from_json(each) for path, each in attributes.items()},
        errors_by_type=_errors_from_json(fields.object("errors_by_type")),
        quality=_quality_from_json(fields.object("quality")),
        evaluators={
            name: _evaluator_from_json(each) for name, each in fields.objects("evaluators")
        },
        detection=fields.object("detection").value if "detection" in fields else {},
        usage=fields.object("usage").value if "usage" in fields else {},
        gates=tuple(_gate_from_json(each) for each in fields.array_of_objects("gates")),
        warnings=fields.texts("warnings"),
        intervals=_intervals_from_json(fields.object("intervals"), attributes)
        if "intervals" in fields
        else None,
    )


def convention_to_json(convention: AppliedConvention) -> JsonObject:
    """The convention as summaries and manifests name it."""
    return {
        "name": convention.name,
        "version": convention.version,
        "options": convention.options,
        "comparison_sha256": convention.comparison_sha256,
        "counting_sha256": convention.counting_sha256,
    }


def convention_from_json(value: JsonValue) -> AppliedConvention:
    """The convention that a summary or a manifest names."""
    fields = JsonFields(value, "convention")
    return AppliedConvention(
        name=fields.text("name"),
        version=fields.integer("version"),
        options=fields.object("options").value,
        comparison_sha256=fields.text("comparison_sha256"),
        counting_sha256=fields.text("counting_sha256"),
    )


def attribute_to_json(attribute: AttributeSummary) -> JsonObject:
    """The figures of one attribute."""
    return {
        **_micro_to_json(attribute),
        "accuracy": attribute.accuracy,
        "errors": attribute.errors,
        "errors_by_type": dict(attribute.errors_by_type._asdict()),
    }


def _attribute_from_json(fields: JsonFields) -> AttributeSummary:
    tp, tn, fp, fn = map(fields.integer, _COUNTS)
    precision, recall, f1 = map(fields.optional_number, _RATES)
    return AttributeSummary(
        tp=tp,
        tn=tn,
        fp=fp,
        fn=fn,
        precision=precision,
        recall=recall,
        f1=f1,
        accuracy=fields.optional_number("accuracy"),
        errors=fields.integer("errors"),
        errors_by_type=_errors_from_json(fields.object("errors_by_type")),
    )


def evaluator_to_json(evaluator: EvaluatorSummary) -> JsonObject:
    """The figures of one evaluator; figures of its own stand only where it has some."""
    return {
        "mean_score": evaluator.mean_score,
        "scored": evaluator.scored,
        "errors": evaluator.errors,
        "verdicts": _verdicts_to_json(evaluator.verdicts),
        **({"figures": evaluator.figures} if evaluator.figures else {}),
    }


def _evaluator_from_json(fields: JsonFields) -> EvaluatorSummary:
    return EvaluatorSummary(
        mean_score=fields.optional_number("mean_score"),
        scored=fields.integer("scored"),
        errors=fields.integer("errors"),
        verdicts=_verdicts_from_json(fields.object("verdicts")),
        figures=fields.object("figures").value if "figures" in fields else {},
    )


def gate_to_json(gate: GateResult) -> JsonObject:
    """The result of a gate; after `passed`, only what is out of the ordinary."""
    return {
        "name": gate.name,
        "kind": gate.kind.value,
        "limit": gate.limit,
        "value": gate.value,
        "passed": gate.passed,
        **({"note": gate.note} if gate.note else {}),
        **({} if gate.known else {"known": False}),
    }


def _gate_from_json(fields: JsonFields) -> GateResult:
    return GateResult(
        name=fields.text("name"),
        kind=fields.choice("kind", GateKind),
        limit=fields.number("limit"),
        value=fields.optional_number("value"),
        passed=fields.boolean("passed"),
        note=fields.text("note") if "note" in fields else "",
        known=fields.boolean("known") if "known" in fields else True,
    )


def intervals_to_json(intervals: RunIntervals) -> JsonObject:
    """The intervals of the headline figures."""
    return {name: list(interval) for name, interval in intervals.figures.items()}


def with_intervals(summary: JsonObject, intervals: RunIntervals) -> JsonObject:
    """A summary as JSON with `intervals`, and with an `interval` for each attribute."""
    attributes = summary.get("attributes")
    extended: JsonObject = {}
    for path, figures in (attributes if isinstance(attributes, dict) else {}).items():
        interval = intervals.attributes.get(path)
        known = figures if isinstance(figures, dict) else {}
        extended[path] = {**known, "interval": {"f1": None if interval is None else list(interval)}}
    return {**summary, "attributes": extended, "intervals": intervals_to_json(intervals)}


def _intervals_from_json(fields: JsonFields, attributes: dict[str, JsonFields]) -> RunIntervals:
    own = {path: each.object("interval") for path, each in attributes.items()}
    return RunIntervals(
        figures={name: fields.interval(name) for name in fields.value},
        attributes={
            path: each.interval("f1")
            for path, each in own.items()
            if each.value.get("f1") is not None
        },
    )


def _micro_to_json(micro: Micro) -> JsonObject:
    return {name: getattr(micro, name) for name in (*_COUNTS, *_RATES)}


def _micro_from_json(fields: JsonFields) -> Micro:
    tp, tn, fp, fn = map(fields.integer, _COUNTS)
    precision, recall, f1 = map(fields.optional_number, _RATES)
    return Micro(tp=tp, tn=tn, fp=fp, fn=fn, precision=precision, recall=recall, f1=f1)


def _mean_to_json(mean: MacroMean) -> JsonObject:
    """The means; `vacuous` stands only where it is true."""
    figures: JsonObject = {name: getattr(mean, name) for name in _RATES}
    return {**figures, "vacuous": True} if mean.vacuous else figures


def _mean_from_json(fields: JsonFields) -> MacroMean:
    vacuous = fields.boolean("vacuous") if "vacuous" in fields else False
    precision, recall, f1 = map(fields.optional_number, _RATES)
    return MacroMean(precision, recall, f1, vacuous)


def _verdicts_to_json(counts: VerdictCounts) -> JsonObject:
    return {key: getattr(counts, name) for key, name in _VERDICTS.items()}


def _verdicts_from_json(fields: JsonFields) -> VerdictCounts:
    return VerdictCounts(**{name: fields.integer(key) for key, name in _VERDICTS.items()})


def _errors_from_json(fields: JsonFields) -> ErrorCounts:
    return ErrorCounts(*map(fields.integer, ErrorCounts._fields))


def _quality_to_json(quality: QualitySummary) -> JsonObject:
    return {
        **{name: getattr(quality, name) for name in _QUALITY},
        "depth": quality.depth.value,
        "flags": {figure: list(flags) for figure, flags in quality.flags.items()},
        "buckets": dict(quality.buckets._asdict()),
    }


def _quality_from_json(fields: JsonFields) -> QualitySummary:
    flags, buckets = fields.object("flags"), fields.object("buckets")
    figures = {name: fields.number(name) for name in _QUALITY}
    return QualitySummary(
        **figures,
        depth=fields.choice("depth", Depth),
        flags={figure: flags.texts(figure) for figure in flags.value},
        buckets=QualityBuckets(*map(buckets.integer, QualityBuckets._fields)),
    )
