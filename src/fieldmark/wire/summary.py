"""The JSON form of a run's summary: `summary.json`, the API and the command line."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Final

from fieldmark.metrics.averages import MacroMean
from fieldmark.metrics.gates import GateKind, GateResult, RunFailure, run_failures
from fieldmark.metrics.quality import QualityBuckets
from fieldmark.metrics.summary import (
    QUALITY_DEPTH,
    AppliedConvention,
    AttributeSummary,
    EvaluatorSummary,
    Macro,
    Micro,
    QualitySummary,
    RateVariations,
    RunIntervals,
    Summary,
    Variation,
)
from fieldmark.metrics.tally import CaseTotals, VerdictCounts
from fieldmark.metrics.taxonomy import ErrorCounts
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Depth
from fieldmark.wire.json_fields import FORMAT, JsonFields, check_format

if TYPE_CHECKING:
    from fieldmark.metrics.confidence import ConfidenceSummary

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
    """Return the summary as JSON, in reading order."""
    document: JsonObject = {
        "format": FORMAT,
        "convention": convention_to_json(summary.convention),
        **_metrics_to_json(summary),
        "evaluators": {name: evaluator_to_json(each) for name, each in summary.evaluators.items()},
        **({"detection": summary.detection} if summary.detection else {}),
        **({"usage": summary.usage} if summary.usage else {}),
        **({"spent": summary.spent} if summary.spent else {}),
        "gates": [gate_to_json(gate) for gate in summary.gates],
        "passed": summary.passed,
        "failures": [failure.value for failure in summary.failures],
        "warnings": list(summary.warnings),
        "structural_warnings": list(summary.structural_warnings),
        **({"input_warnings": list(summary.input_warnings)} if summary.input_warnings else {}),
    }
    if summary.intervals is not None:
        document = with_intervals(document, summary.intervals)
    if summary.by:
        document["by"] = list(summary.by)
        document["slices"] = {name: _slice_to_json(each) for name, each in summary.slices.items()}
        document["groups"] = {
            key: {"slices": each.slices, "mean": {**each.mean}, "deviation": {**each.deviation}}
            for key, each in summary.group_means().items()
        }
    return document


def _metrics_to_json(summary: Summary) -> JsonObject:
    """Return the metrics that a run and its slices have."""
    return {
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
        "attributes": {path: attribute_to_json(each) for path, each in summary.attributes.items()},
        "errors_by_type": dict(summary.errors_by_type._asdict()),
        "quality": _quality_to_json(summary.quality),
        **_confidence_to_json(summary),
    }


def _slice_to_json(summary: Summary) -> JsonObject:
    metrics = _metrics_to_json(summary)
    return metrics if summary.intervals is None else with_intervals(metrics, summary.intervals)


def summary_from_json(value: JsonObject) -> Summary:
    """Parse a summary written by `summary_to_json`; an invalid one raises `ValueError`."""
    fields = JsonFields(value)
    check_format(value)
    summary = _metrics_from_json(fields, convention_from_json(fields.object("convention")))
    gates = tuple(_gate_from_json(each) for each in fields.array_of_objects("gates"))
    return replace(
        summary,
        evaluators={
            name: _evaluator_from_json(each) for name, each in fields.objects("evaluators")
        },
        detection=fields.optional(fields.json_object, "detection", {}),
        usage=fields.optional(fields.json_object, "usage", {}),
        spent=fields.optional(fields.json_object, "spent", {}),
        gates=gates,
        failures=fields.optional(
            lambda key: tuple(map(RunFailure, fields.texts(key))),
            "failures",
            run_failures(summary.cases, gates),
        ),
        warnings=fields.texts("warnings"),
        structural_warnings=fields.optional(fields.texts, "structural_warnings", ()),
        input_warnings=fields.optional(fields.texts, "input_warnings", ()),
        by=fields.optional(fields.texts, "by", ()),
        slices=fields.optional(
            lambda key: {
                name: _metrics_from_json(each, summary.convention)
                for name, each in fields.objects(key)
            },
            "slices",
            {},
        ),
    )


def _metrics_from_json(fields: JsonFields, convention: AppliedConvention) -> Summary:
    """Parse the metrics that a run and its slices have."""
    macro, attributes = fields.object("macro"), dict(fields.objects("attributes"))
    deviations = fields.optional(fields.object, "deviations", JsonFields({}))
    return Summary(
        convention=convention,
        cases=CaseTotals(*map(fields.object("cases").integer, CaseTotals._fields)),
        verdicts=_verdicts_from_json(fields.object("verdicts")),
        micro=_micro_from_json(fields.object("micro")),
        macro=Macro(
            by_attribute=_mean_from_json(macro.object("by_attribute")),
            by_case=_mean_from_json(macro.object("by_case")),
        ),
        mean_score=fields.optional_number("mean_score"),
        attributes={path: _attribute_from_json(each) for path, each in attributes.items()},
        errors_by_type=_errors_from_json(fields.object("errors_by_type")),
        quality=_quality_from_json(fields.object("quality")),
        intervals=fields.optional(
            lambda key: _intervals_from_json(fields.object(key), deviations, attributes),
            "intervals",
            None,
        ),
        confidence=_confidence_from_json(fields),
    )


def _confidence_to_json(summary: Summary) -> JsonObject:
    """Return the confidences of the few runs that have any."""
    if summary.confidence is None:
        return {}
    from fieldmark.wire.confidence import confidence_to_json

    return {"confidence": confidence_to_json(summary.confidence)}


def _confidence_from_json(fields: JsonFields) -> ConfidenceSummary | None:
    if "confidence" not in fields.value:
        return None
    from fieldmark.wire.confidence import confidence_from_json

    return confidence_from_json(fields.object("confidence"))


def convention_to_json(convention: AppliedConvention) -> JsonObject:
    """Return the convention as summaries and manifests store it."""
    return {
        "name": convention.name,
        "version": convention.version,
        "options": {**convention.options},
        "comparison_sha256": convention.comparison_sha256,
        "counting_sha256": convention.counting_sha256,
    }


def convention_from_json(fields: JsonFields) -> AppliedConvention:
    """Parse the convention of a summary or a manifest."""
    options = fields.object("options")
    for name in (QUALITY_DEPTH, "depth"):
        options.optional(lambda key: options.choice(key, Depth), name, Depth.LEAF)
    return AppliedConvention(
        name=fields.text("name"),
        version=fields.integer("version"),
        options=options.value,
        comparison_sha256=fields.text("comparison_sha256"),
        counting_sha256=fields.text("counting_sha256"),
    )


def attribute_to_json(attribute: AttributeSummary) -> JsonObject:
    """Return the metrics of one attribute as JSON."""
    return {
        **_micro_to_json(attribute),
        "accuracy": attribute.accuracy,
        "errors": attribute.errors,
        "errors_by_type": dict(attribute.errors_by_type._asdict()),
    }


def _attribute_from_json(fields: JsonFields) -> AttributeSummary:
    return AttributeSummary(
        **asdict(_micro_from_json(fields)),
        accuracy=fields.optional_number("accuracy"),
        errors=fields.integer("errors"),
        errors_by_type=_errors_from_json(fields.object("errors_by_type")),
    )


def evaluator_to_json(evaluator: EvaluatorSummary) -> JsonObject:
    """Return the totals of one evaluator, and its metrics over all cases if it has any."""
    return {
        "mean_score": evaluator.mean_score,
        "scored": evaluator.scored,
        "errors": evaluator.errors,
        "vacuous": evaluator.vacuous,
        "verdicts": _verdicts_to_json(evaluator.verdicts),
        **({"metrics": evaluator.metrics} if evaluator.metrics else {}),
        **({"error": evaluator.error} if evaluator.error else {}),
    }


def _evaluator_from_json(fields: JsonFields) -> EvaluatorSummary:
    return EvaluatorSummary(
        mean_score=fields.optional_number("mean_score"),
        scored=fields.integer("scored"),
        errors=fields.integer("errors"),
        verdicts=_verdicts_from_json(fields.object("verdicts")),
        metrics=fields.optional(fields.json_object, "metrics", {}),
        error=fields.optional(fields.text, "error", ""),
        vacuous=fields.optional(fields.integer, "vacuous", 0),
    )


def gate_to_json(gate: GateResult) -> JsonObject:
    """Return the result of a gate as JSON; `note` and `known` only if they are not the default."""
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
        note=fields.optional(fields.text, "note", ""),
        known=fields.optional(fields.boolean, "known", default=True),
    )


def intervals_to_json(intervals: RunIntervals) -> JsonObject:
    """Return the intervals of the headline metrics as JSON."""
    return {name: list(interval) for name, interval in intervals.metrics.items()}


def with_intervals(summary: JsonObject, intervals: RunIntervals) -> JsonObject:
    """Add `intervals` and `deviations` to a summary as JSON, and both to each attribute."""
    attributes = summary.get("attributes")
    extended: JsonObject = {}
    for path, metrics in (attributes if isinstance(attributes, dict) else {}).items():
        rates = intervals.attributes.get(path, RateVariations())._asdict()
        known = metrics if isinstance(metrics, dict) else {}
        extended[path] = {
            **known,
            "interval": {
                name: each.interval and list(each.interval) for name, each in rates.items()
            },
            "deviation": {name: each.deviation for name, each in rates.items()},
        }
    return {
        **summary,
        "attributes": extended,
        "intervals": intervals_to_json(intervals),
        "deviations": {**intervals.deviations},
    }


def _intervals_from_json(
    fields: JsonFields, deviations: JsonFields, attributes: dict[str, JsonFields]
) -> RunIntervals:
    return RunIntervals(
        metrics={name: fields.interval(name) for name in fields.value},
        attributes={
            path: found
            for path, each in attributes.items()
            if (found := _variations_from_json(each)) != RateVariations()
        },
        deviations={name: deviations.number(name) for name in deviations.value},
    )


def _variations_from_json(fields: JsonFields) -> RateVariations:
    """Parse the variation of the rates of an attribute; earlier versions stored that of F1 only."""
    intervals = fields.object("interval")
    deviations = fields.optional(fields.object, "deviation", JsonFields({}))
    return RateVariations(
        *(
            Variation(
                None if intervals.value.get(name) is None else intervals.interval(name),
                deviations.optional(deviations.optional_number, name, None),
            )
            for name in _RATES
        )
    )


def _micro_to_json(micro: Micro) -> JsonObject:
    return {name: getattr(micro, name) for name in (*_COUNTS, *_RATES)}


def _micro_from_json(fields: JsonFields) -> Micro:
    tp, tn, fp, fn = map(fields.integer, _COUNTS)
    precision, recall, f1 = map(fields.optional_number, _RATES)
    return Micro(tp=tp, tn=tn, fp=fp, fn=fn, precision=precision, recall=recall, f1=f1)


def _mean_to_json(mean: MacroMean) -> JsonObject:
    """Return the means as JSON; `vacuous` only if it is true."""
    metrics: JsonObject = {name: getattr(mean, name) for name in _RATES}
    return {**metrics, "vacuous": True} if mean.vacuous else metrics


def _mean_from_json(fields: JsonFields) -> MacroMean:
    precision, recall, f1 = map(fields.optional_number, _RATES)
    vacuous = fields.optional(fields.boolean, "vacuous", default=False)
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
        "flags": {metric: list(flags) for metric, flags in quality.flags.items()},
        "buckets": dict(quality.buckets._asdict()),
    }


def _quality_from_json(fields: JsonFields) -> QualitySummary:
    flags, buckets = fields.object("flags"), fields.object("buckets")
    metrics = {name: fields.number(name) for name in _QUALITY}
    return QualitySummary(
        **metrics,
        depth=fields.choice("depth", Depth),
        flags={metric: flags.texts(metric) for metric in flags.value},
        buckets=QualityBuckets(*map(buckets.integer, QualityBuckets._fields)),
    )
