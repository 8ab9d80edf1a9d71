"""The shape that the evaluators of places share: one value, or two lists that are paired first."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeAlias

from fieldmark.compare.options import check_share, checked_choice
from fieldmark.compare.scales import check_scale
from fieldmark.errors import MissingExtra, OptionError
from fieldmark.evaluators.details import MAX_ROWS, confusion
from fieldmark.evaluators.options import check_limit, is_path
from fieldmark.evaluators.places import Place, at, check_places, is_pattern, places
from fieldmark.evaluators.score import Score
from fieldmark.evaluators.shape_pairs import (
    EMPTY,
    UNEXPECTED,
    Matching,
    Measured,
    Ruler,
    missed,
    paired,
    row_of,
)
from fieldmark.metrics.options import ZeroRule
from fieldmark.metrics.verdict import verdict_at
from fieldmark.model.counts import Counts
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing
from fieldmark.model.outcome import Presence
from fieldmark.values.boxes import Scale
from fieldmark.values.paths import ROOT
from fieldmark.values.presence import presence

__all__ = ["ScaleOption", "ShapeEvaluator"]

ScaleOption: TypeAlias = tuple[float, ...] | str | None
"""Factors, or the path of the expected document at which the size of the page stands."""
Side: TypeAlias = "JsonValue | Missing"

_UNREADABLE: Final = "no readable candidate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeEvaluator(ABC):
    """Measures a value of the candidate against the truth, or lists of them pair by pair.

    `path` leads to the value or to the list; with `[]` it names the values of list items.
    """

    name: ClassVar[str]
    noun: ClassVar[str]
    path: str = ROOT
    matching: Matching = Matching.INDEX
    pass_threshold: float | None = None
    expected_scale: ScaleOption = None
    candidate_scale: ScaleOption = None
    max_rows: int = MAX_ROWS
    _ready: Ruler | None = field(init=False, repr=False, compare=False, default=None)

    def __post_init__(self) -> None:
        self._check()
        scales = (self.expected_scale, self.candidate_scale)
        fixed = [None if isinstance(scale, str) else scale for scale in scales]
        # Made even if every page has a scale of its own: bad options are refused here.
        ruler = self._made(*fixed)
        if not any(isinstance(scale, str) for scale in scales):
            object.__setattr__(self, "_ready", ruler)

    def _check(self) -> None:
        if is_path(self.path):
            check_places("path", self.path)
        matching = checked_choice("matching", self.matching, Matching)
        object.__setattr__(self, "matching", matching)
        if self.pass_threshold is not None:
            check_share("pass_threshold", self.pass_threshold)
        check_limit("max_rows", self.max_rows)
        for option in ("expected_scale", "candidate_scale"):
            scale = getattr(self, option)
            if not isinstance(scale, str):
                object.__setattr__(self, option, check_scale(option, scale))

    def evaluate(self, expected: JsonValue, candidate: Side, *, unreadable: bool = False) -> Score:
        """Score the places of a candidate; one that could not be read has none."""
        if not is_path(self.path):
            return self._zero(f"{self.path} (invalid path)")
        if unreadable or candidate is MISSING:
            return self._zero(f"{ROOT} ({_UNREADABLE})")
        try:
            ruler = self._ready or self._made(*self._scales(expected))
            return self._evaluated(ruler, expected, candidate)
        except MissingExtra as missing:
            return Score.error(str(missing))
        except _NoSizeError as error:
            return self._zero(f"{error} (no size of a page)")

    def _evaluated(self, ruler: Ruler, expected: JsonValue, candidate: JsonValue) -> Score:
        if is_pattern(self.path):
            return self._many(ruler, places(expected, self.path), places(candidate, self.path))
        ours, theirs = at(expected, self.path), at(candidate, self.path)
        here, there = presence(ours), presence(theirs)
        deciding = ours if here is Presence.VALUE else theirs
        if isinstance(deciding, list) and self._is_list(deciding):
            return self._many(ruler, self._listed(ours), self._listed(theirs))
        if here is not Presence.VALUE and there is not Presence.VALUE:
            return self._nothing()
        if here is not Presence.VALUE:
            return self._zero(f"{self.path} ({UNEXPECTED})")
        if there is not Presence.VALUE:
            return self._zero(f"{self.path} ({EMPTY[there]})")
        return self._one(ruler.measure(ours, theirs))  # type: ignore[arg-type]

    def _scales(self, expected: JsonValue) -> tuple[Scale | None, Scale | None]:
        """The scales of one page, looked up in the document where they are paths."""
        return _scale(self.expected_scale, expected), _scale(self.candidate_scale, expected)

    def _one(self, measured: Measured) -> Score:
        return Score(
            score=measured.score,
            verdict=verdict_at(measured.score, self._needed),
            hits=(self.path,) if measured.enough else (),
            misses=() if measured.enough else (f"{self.path} ({measured.said})",),
            reasoning=measured.said,
            details={**measured.figures, **self._settings()},
        )

    def _many(self, ruler: Ruler, expected: Sequence[Place], candidate: Sequence[Place]) -> Score:
        if not expected and not candidate:
            return self._nothing()
        pairs = paired(ruler, expected, candidate)
        if isinstance(pairs, str):
            return Score.error(pairs)
        if not pairs:
            return self._nothing()
        sure = sum(pair.enough for pair in pairs)
        wanted = sum(pair.expected is not None for pair in pairs)
        got = sum(pair.candidate is not None for pair in pairs)
        longer = len(pairs) if self.matching is Matching.INDEX else max(wanted, got)
        total = sum(pair.measured.score for pair in pairs if pair.measured is not None)
        score = total / longer
        rows: list[JsonValue] = [row_of(pair) for pair in pairs]
        return Score(
            score=score,
            verdict=verdict_at(score, self._needed),
            hits=tuple(expected[pair.expected or 0].path for pair in pairs if pair.enough),
            misses=tuple(missed(pair, expected, candidate) for pair in pairs if not pair.enough),
            reasoning=f"{sure}/{longer} {self.noun} matched, mean {score:.3f}",
            details={
                **self._settings(),
                "matching": self.matching,
                "mean": score,
                **confusion(Counts(tp=sure, fp=got - sure, fn=wanted - sure), ZeroRule.UNDEFINED),
                "alignment": rows[: self.max_rows],
                "alignment_total": len(rows),
            },
        )

    def _listed(self, value: Side) -> list[Place]:
        prefix = "" if self.path == ROOT else self.path
        if presence(value) is not Presence.VALUE:
            return []
        if not isinstance(value, list) or not self._is_list(value):
            return [Place(self.path, value)]
        return [Place(f"{prefix}[{number}]", item) for number, item in enumerate(value)]

    def _nothing(self) -> Score:
        verdict = verdict_at(1.0, self._needed)
        return Score(score=1.0, verdict=verdict, reasoning=f"no {self.noun}", vacuous=True)

    def _zero(self, miss: str) -> Score:
        return Score(
            score=0.0,
            verdict=verdict_at(0.0, self._needed),
            misses=(miss,),
            reasoning=miss,
            details=self._settings(),
        )

    @property
    @abstractmethod
    def _needed(self) -> float:
        """The score from which on a case passes."""

    @abstractmethod
    def _made(self, expected_scale: Scale | None, candidate_scale: Scale | None) -> Ruler:
        """What measures values of these scales."""

    @abstractmethod
    def _is_list(self, value: list[JsonValue]) -> bool:
        """Whether a list holds several values and is not one itself."""

    @abstractmethod
    def _settings(self) -> JsonObject:
        """The options that a reader of the details needs."""


class _NoSizeError(Exception):
    """There is no size at the path at which the size of a page should stand."""


def _scale(option: ScaleOption, document: JsonValue) -> Scale | None:
    if not isinstance(option, str):
        return option
    size = at(document, option)
    if isinstance(size, dict):
        size = [size.get("width"), size.get("height")]
    try:
        return check_scale(option, size)
    except OptionError:
        raise _NoSizeError(option) from None
