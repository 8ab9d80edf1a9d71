"""What `diff` answers: two runs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from fieldmark.metrics.difference import (
    CaseChange,
    DiffVerdict,
    FigureDifference,
    PairedCases,
    PairedFigures,
    greatest,
)
from fieldmark.metrics.gates import GateResult
from fieldmark.metrics.headline import MAIN_FIGURE
from fieldmark.metrics.significance import ALPHA, mcnemar
from fieldmark.metrics.summary import Summary
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.wire.summary import gate_to_json

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["DiffResult", "RunName"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """Which run it was."""

    name: str
    path: str
    started_at: str | None


@dataclass(frozen=True, kw_only=True, repr=False)
class DiffResult:
    """Two runs on the same cases: deltas of every figure, changed cases, and chance.

    `word` is the conclusion: better, worse, or no difference that could not be chance.
    """

    before: RunName
    after: RunName
    summaries: tuple[Summary, Summary]
    figures: PairedFigures
    pairs: PairedCases
    only_before: int = 0
    only_after: int = 0
    gates: tuple[GateResult, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def word(self) -> DiffVerdict:
        """What became of the mean score, chance aside."""
        return self.figures.headline[MAIN_FIGURE].word

    @property
    def attributes(self) -> Mapping[str, FigureDifference]:
        """The F1 of every attribute in both runs, with its difference."""
        return self.figures.attributes

    @property
    def fixed(self) -> list[CaseChange]:
        """Cases that pass only in the second run, greatest gain first; at most fifty."""
        return greatest(self.pairs.fixed)

    @property
    def broken(self) -> list[CaseChange]:
        """Cases that passed only in the first run, greatest loss first; at most fifty."""
        return greatest(self.pairs.broken)

    @property
    def passed(self) -> bool:
        """Whether every gate was passed; without gates, yes."""
        return all(gate.passed for gate in self.gates)

    def to_dict(self) -> JsonObject:
        """Everything as JSON."""
        return {
            "format": 1,
            "before": asdict(self.before),
            "after": asdict(self.after),
            "convention": self.summaries[0].convention.name,
            "cases": self._cases(),
            "conclusion": {
                "word": self.word.value,
                "figure": MAIN_FIGURE,
                "p": self.figures.headline[MAIN_FIGURE].p,
                "alpha": ALPHA,
            },
            "figures": {name: each.to_dict() for name, each in self.figures.headline.items()},
            "attributes": {path: each.to_dict() for path, each in self.attributes.items()},
            "errors_by_type": self._mistakes(),
            "shifts": _changes(self.pairs.shifts, "fields"),
            "verdicts": self._verdicts(),
            "fixed": [asdict(change) for change in self.fixed],
            "broken": [asdict(change) for change in self.broken],
            "gates": [gate_to_json(gate) for gate in self.gates],
            "notes": list(self.notes),
        }

    def _cases(self) -> JsonObject:
        return {
            "paired": self.pairs.cases,
            "only_before": self.only_before,
            "only_after": self.only_after,
            **{f"score_{way}": self.pairs.scores[way] for way in ("up", "down", "same")},
        }

    def _mistakes(self) -> JsonObject:
        before, after = (summary.errors_by_type._asdict() for summary in self.summaries)
        return {name: {"before": before[name], "after": after[name]} for name in before}

    def _verdicts(self) -> JsonObject:
        fixed, broken = self.pairs.passes()
        return {
            "fixed": fixed,
            "broken": broken,
            "p": mcnemar(fixed, broken),
            "changes": _changes(self.pairs.verdicts, "cases"),
        }

    def __repr__(self) -> str:
        from fieldmark.report.terminal import as_text

        return as_text(self.__rich__())

    def __rich__(self) -> RenderableType:
        from fieldmark.report.diff_view import diff_view

        return diff_view(self.to_dict())


def _changes(pairs: Counter[tuple[str, str]], unit: str) -> list[JsonValue]:
    """What something was and is, and how often, most frequent first."""
    ranked = sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
    return [{"before": old, "after": new, unit: number} for (old, new), number in ranked]
