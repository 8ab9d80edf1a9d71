"""Rules and metrics for runs over object detection files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from fieldmark.align.greedy import Greedy
from fieldmark.compare.ignore import Ignore
from fieldmark.compare.iou import Iou
from fieldmark.data.inputs import Inputs
from fieldmark.evaluators.detection_ap import DetectionAp
from fieldmark.metrics.summary import Summary
from fieldmark.model.case import CaseInput
from fieldmark.model.rule import Rule, Rules
from fieldmark.runs.case_result import CaseResult
from fieldmark.runs.settings import Settings
from fieldmark.values.boxes import BoxFormat

COCO: Final = DetectionAp(format=BoxFormat.XYWH, area="regions[].area", crowd="crowd[]")
"""The detection metrics for documents that were read from COCO files."""


def with_regions(settings: Settings, reading: Inputs) -> Settings:
    """Return the settings with rules for regions before the user's, if the input has regions.

    Regions are aligned by overlap. Scores, areas and crowd regions are ignored, and never count as
    missing or extra: only predictions have scores, the area follows from the box or outline, and
    crowd regions need not be detected.
    """
    if reading.format_in is None:
        return settings
    aligner = Greedy(match_fields=("bbox",), similarity={"type": Iou.name, "format": "xywh"})
    ours = (
        Rule(path="regions", aligner=aligner),
        Rule(path="regions[*].bbox", comparator=Iou(format=BoxFormat.XYWH)),
        Rule(path="regions[*].score", comparator=Ignore()),
        Rule(path="regions[*].area", comparator=Ignore()),
        Rule(path="crowd", comparator=Ignore()),
    )

    def with_ours(rules: Rules) -> Rules:
        return replace(rules, fields=(*ours, *rules.fields))

    return replace(
        settings,
        rules=with_ours(settings.rules),
        own_rules={name: with_ours(rules) for name, rules in settings.own_rules.items()},
        convention=settings.convention.with_options({"ignore_scope": "all"}),
    )


class RegionTotals:
    """Object detection metrics over all cases."""

    __slots__ = ("_tally",)

    def __init__(self) -> None:
        self._tally = COCO.start()

    def add(self, results: Iterable[CaseResult]) -> None:
        """Add the cases of some results."""
        for case in (result.case for result in results):
            if case.input is not CaseInput.FAILED:
                unreadable = case.input is not CaseInput.OK
                self._tally.add(case.expected, case.candidate, unreadable=unreadable)

    def added_to(self, summary: Summary) -> Summary:
        """Return the summary with the detection metrics."""
        return replace(summary, detection=self._tally.summary())
