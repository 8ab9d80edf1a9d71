"""Hand-written records of a run."""

from __future__ import annotations

from dataclasses import replace

from fieldmark.metrics.conventions import find_convention
from fieldmark.metrics.summary import applied_convention, summarize
from fieldmark.metrics.tally import Tally
from fieldmark.model.outcomes import AttributeTable
from fieldmark.model.rule import Rules
from fieldmark.runs.manifest import Manifest

CONFUSION = find_convention("confusion")
MANIFEST = Manifest(
    command="score",
    fieldmark="0",
    python="3",
    convention=applied_convention(CONFUSION, Rules()),
)
SUMMARY = summarize(Tally(AttributeTable()), CONFUSION)


def manifest(**changes):
    return replace(MANIFEST, **changes)
