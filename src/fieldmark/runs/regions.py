"""Documents with regions, which are read from COCO files: their rules, and detection metrics."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fieldmark.align.greedy import Greedy
from fieldmark.compare.exact import Ignore
from fieldmark.data.inputs import Inputs
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import CaseInput
from fieldmark.model.rule import Rule, Rules
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.settings import Settings


def with_regions(settings: Settings, reading: Inputs) -> Settings:
    """Return the settings with rules for regions before the user's, if the input has regions.

    Regions are aligned by overlap. Scores, areas and crowd regions are ignored, and never count as
    missing or extra: only predictions have scores, the area follows from the box or outline, and
    crowd regions need not be detected.
    """
    if reading.format_in is None:
        return settings
    from fieldmark.compare.iou import Iou  # only for boxes
    from fieldmark.values.geometry import BoxFormat

    aligner = Greedy(match_fields=("bbox",), similarity={"type": Iou.name, "format": "xywh"})
    region_rules = (
        Rule(path="regions", aligner=aligner),
        Rule(path="regions[*].bbox", comparator=Iou(format=BoxFormat.XYWH)),
        Rule(path="regions[*].score", comparator=Ignore()),
        Rule(path="regions[*].area", comparator=Ignore()),
        Rule(path="crowd", comparator=Ignore()),
    )

    def with_region_rules(rules: Rules) -> Rules:
        return replace(rules, fields=(*region_rules, *rules.fields))

    return replace(
        settings,
        rules=with_region_rules(settings.rules),
        own_rules={name: with_region_rules(rules) for name, rules in settings.own_rules.items()},
        convention=settings.convention.with_options({"ignore_scope": "all"}),
    )


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
