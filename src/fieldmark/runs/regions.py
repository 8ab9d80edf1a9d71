"""Rules that come with the reader of the inputs, and the detection metrics of COCO files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fieldmark.compare.exact import Ignore
from fieldmark.data.inputs import InputFormat, Inputs
from fieldmark.metrics.conventions import Convention, IgnoreScope
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import CaseInput
from fieldmark.model.rule import Rule, Rules, Scope
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.settings import Settings
from fieldmark.values.paths import first_keys, parse_path, path_or_none


def with_reader_rules(settings: Settings, reading: Inputs) -> Settings:
    """Return the settings with the rules of the reader of the inputs before the user's.

    If only configured fields are compared, the rules apply to keys of the document that the user
    configured too.
    """
    declared = _declared(reading)
    if not declared:
        return settings

    def with_declared(rules: Rules) -> Rules:
        fields: tuple[Rule, ...] = declared
        if rules.scope is Scope.CONFIGURED:
            configured = first_keys(filter(None, (path_or_none(r.path) for r in rules.fields)))
            fields = tuple(r for r in declared if configured is None or _key(r) in configured)
        return replace(rules, fields=(*fields, *rules.fields))

    return replace(
        settings,
        rules=with_declared(settings.rules),
        own_rules={name: with_declared(rules) for name, rules in settings.own_rules.items()},
        convention=reader_convention(settings.convention, reading),
        reader_rules=declared,
    )


def reader_convention(convention: Convention, reading: Inputs) -> Convention:
    """Return the convention for the rules of a reader.

    Fields that they ignore never count as missing or extra.
    """
    comparators = [rule.comparator for rule in _declared(reading) if rule.comparator is not None]
    if not any(comparator.name == Ignore.name for comparator in comparators):
        return convention
    return convention.with_options({"ignore_scope": IgnoreScope.ALL})


def _declared(reading: Inputs) -> tuple[Rule, ...]:
    """Return the rules that the reader of the inputs declares."""
    if reading.format_in is None and reading.preset is None:
        return ()
    from fieldmark.data.presets import reader_rules  # only for such files

    return reader_rules(reading)


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
        """Add the cases of some results that did not fail."""
        for result in results:
            case = result.case
            if not result.stats.failed:
                unreadable = case.input is not CaseInput.OK
                self._tally.add(case.expected, case.candidate, unreadable=unreadable)

    def added_to(self, summary: Summary) -> Summary:
        """Return the summary with the detection metrics."""
        return replace(summary, detection=self._tally.summary())
