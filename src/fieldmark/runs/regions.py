"""Rules that come with the reader of the inputs, and the detection metrics of COCO files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fieldmark.data.inputs import InputFormat, Inputs
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import CaseInput
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.settings import Settings
from fieldmark.values.paths import first_keys, parse_path, path_or_none


def with_reader_rules(settings: Settings, reading: Inputs) -> Settings:
    """Return the settings with the rules of the reader of the inputs before the user's.

    Fields that these rules ignore never count as missing or extra. If only configured fields are
    compared, the rules apply to keys of the document that the user configured too.
    """
    if reading.format_in is None and reading.preset is None:
        return settings
    from fieldmark.data.presets import reader_rules  # only for such files

    declared = reader_rules(reading)
    if not declared:
        return settings

    def with_declared(rules: Rules) -> Rules:
        fields: tuple[Rule, ...] = declared
        if rules.scope is Scope.CONFIGURED:
            configured = first_keys(filter(None, (path_or_none(r.path) for r in rules.fields)))
            fields = tuple(r for r in declared if configured is None or _key(r) in configured)
        return replace(rules, fields=(*fields, *rules.fields))

    ignores = any(
        rule.comparator is not None and rule.comparator.name == "ignore" for rule in declared
    )
    convention = settings.convention
    return replace(
        settings,
        rules=with_declared(settings.rules),
        own_rules={name: with_declared(rules) for name, rules in settings.own_rules.items()},
        convention=convention.with_options({"ignore_scope": "all"}) if ignores else convention,
        reader_rules=declared,
    )


def stored_reading(summary: Summary | None) -> Inputs:
    """Return options with the reader of the inputs of a run, as far as its summary names it."""
    if summary is None:
        return Inputs()
    tool = next((export.tool for export in summary.exports), None)
    return Inputs(format_in=InputFormat.COCO if summary.detection else None, preset=tool)


def _key(rule: Rule) -> str:
    """Return the key of the document that a rule of a reader applies to."""
    return str(parse_path(rule.path).segments[0])


class RegionTotals:
    """Object detection metrics over all cases."""

    __slots__ = ("_tally",)

    def __init__(self) -> None:
        from fieldmark.evaluators.detection_ap import DetectionAp  # only for boxes
        from fieldmark.values.geometry import BoxFormat

        metrics = DetectionAp(format=BoxFormat.XYWH, area="regions[].area", crowd="crowd[]")
        self._tally = metrics.start()

    def add(self, results: Iterable[CaseResult]) -> None:
        """Add the cases of some results."""
        for case in (result.case for result in results):
            if case.input is not CaseInput.FAILED:
                unreadable = case.input is not CaseInput.OK
                self._tally.add(case.expected, case.candidate, unreadable=unreadable)

    def added_to(self, summary: Summary) -> Summary:
        """Return the summary with the detection metrics."""
        return replace(summary, detection=self._tally.summary())
