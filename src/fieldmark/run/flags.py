"""Counts what deserves a word at the end of a run."""

from __future__ import annotations

from typing import Final

from fieldmark.compare.prompt_injection import INJECTION_NOTE
from fieldmark.run.pipeline import Batch

__all__ = ["Flags"]

_APPROXIMATE: Final = (
    "{n} text comparison(s) by the embedded lexical provider: an approximation of meaning "
    "without a model. Configure a provider for semantic matching."
)
_AMBIGUOUS: Final = (
    "{n} date(s) could be read day first or month first; the month was taken first. "
    "Set `formats` on the field to settle it."
)
_FALLBACK: Final = "{n} case(s) with lists too long for optimal alignment were aligned greedily."
_SUSPICIOUS: Final = (
    "{n} comparison(s) by a model were of texts that read like instructions to it. "
    "Look at these fields yourself."
)

_VACUOUS: Final = "{n} case(s) had nothing to score: they pass without having been checked."


class Flags:
    """Watches a run for what needs a word: doubtful comparisons, and cases without any."""

    __slots__ = ("_ambiguous", "_approximate", "_fallbacks", "_suspicious", "_vacuous")

    def __init__(self) -> None:
        self._approximate = 0
        self._ambiguous = 0
        self._fallbacks = 0
        self._suspicious = 0
        self._vacuous = 0

    def __call__(self, batch: Batch) -> None:
        """Take note of one batch."""
        self._vacuous += sum([stats.vacuous for stats in batch.stats])
        for block in batch.blocks:
            self._fallbacks += block.fallback
            for said in block.comparisons.values():
                self._approximate += said.approximate
                self._ambiguous += said.ambiguous
                self._suspicious += said.note == INJECTION_NOTE

    def merge(self, other: Flags) -> None:
        """Take in what was noted of another part of the run."""
        self._approximate += other._approximate
        self._ambiguous += other._ambiguous
        self._fallbacks += other._fallbacks
        self._suspicious += other._suspicious
        self._vacuous += other._vacuous

    def warnings(self) -> list[str]:
        """One sentence for each thing that happened."""
        sentences = (
            (self._approximate, _APPROXIMATE),
            (self._ambiguous, _AMBIGUOUS),
            (self._fallbacks, _FALLBACK),
            (self._suspicious, _SUSPICIOUS),
            (self._vacuous, _VACUOUS),
        )
        return [text.format(n=number) for number, text in sentences if number]
