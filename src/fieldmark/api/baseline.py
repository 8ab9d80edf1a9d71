"""A run that another must not fall behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from fieldmark.api.settings import Settings
from fieldmark.errors import ConfigError
from fieldmark.metrics.summary import Summary
from fieldmark.wire.summary import convention_to_json, summary_to_json

__all__ = ["Baseline", "baseline_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """A run that was kept, and how far figures may fall below its own."""

    run: Path | str
    max_drop: Mapping[str, float] = field(default_factory=dict)

    def refuse_unlike(self, settings: Settings) -> None:
        """Refuse, before anything runs, a run that this one could not be measured against."""
        from fieldmark.api.diff import refuse_unlike
        from fieldmark.metrics.summary import applied_convention

        said = convention_to_json(applied_convention(settings.convention, settings.rules))
        refuse_unlike(self.run, said, self.max_drop)

    def added(self, summary: Summary) -> Summary:
        """The summary with a gate for each figure that must not fall."""
        from fieldmark.api.diff import drops  # loads what compares runs, which few need

        found = drops(self.run, summary_to_json(summary), self.max_drop)
        return replace(summary, gates=(*summary.gates, *found))


def baseline_of(run: Path | str | None, max_drop: Mapping[str, float] | None) -> Baseline | None:
    """What was asked for; a limit without a run, or a run without a limit, is a mistake."""
    if run is None:
        if max_drop:
            raise ConfigError.of(
                "max_drop: nothing says below what a figure must not fall.",
                hint="Name a run as the baseline.",
            )
        return None
    if not max_drop:
        raise ConfigError.of(
            "baseline: nothing says how far figures may fall below it.",
            hint="Give max_drop, such as 0.01 or micro.f1=0.02.",
        )
    return Baseline(run=run, max_drop=max_drop)
