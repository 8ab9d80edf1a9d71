"""What becomes of the figures of a run before they are told: intervals, and gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fieldmark.api.baseline import Baseline
from fieldmark.api.gates import checked
from fieldmark.metrics.case_sample import CaseSample
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.gates import Gate
from fieldmark.metrics.summary import Summary

__all__ = ["Finishing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finishing:
    """The gates of a run, and the run that it must not fall behind."""

    gates: Sequence[Gate] = ()
    baseline: Baseline | None = None

    def finished(
        self, summary: Summary, sample: CaseSample | None, convention: Convention
    ) -> Summary:
        """The summary with all that it can say of itself."""
        if sample is not None:
            from fieldmark.metrics.bootstrap import run_intervals  # loads numpy

            found = run_intervals(sample, summary, convention.counting)
            summary = replace(summary, intervals=found)
        summary = checked(summary, self.gates)
        return summary if self.baseline is None else self.baseline.added(summary)
