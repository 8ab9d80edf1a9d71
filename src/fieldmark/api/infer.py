"""Propose rules from the data."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fieldmark.api.score import Source
from fieldmark.config.proposal import render_proposal
from fieldmark.data import Inputs, PairStream, open_pairs
from fieldmark.errors import DataError
from fieldmark.model.case import CaseInput
from fieldmark.model.json import MISSING
from fieldmark.plan.propose import Proposer

__all__ = ["infer"]

STANDARD_INPUT: Final = "-"


def infer(truth: Source, candidate: Source | None = None, *, inputs: Inputs | None = None) -> str:
    """The text of a rules file that fits the data, with a reason for every choice.

    >>> import fieldmark as fm
    >>> print(fm.infer([{"issued": "2024-05-03"}, {"issued": "2024-06-01"}]).splitlines()[-1])
      - {path: issued, match: date}
    """
    proposer = Proposer()
    cases = 0
    stream, alone = _open(truth, candidate, inputs or Inputs())
    for batch in stream.batches():
        for case in batch:
            if case.input is not CaseInput.INVALID_TRUTH:
                proposer.add(case.expected, MISSING if alone else case.candidate)
                cases += 1
    return render_proposal(proposer.proposals(), cases=cases)


def _open(truth: Source, candidate: Source | None, inputs: Inputs) -> tuple[PairStream, bool]:
    """The pairs, and whether there is only a truth, which then stands on both sides."""
    if candidate is not None or truth == STANDARD_INPUT:
        return open_pairs(truth, candidate, inputs), False
    source = truth if isinstance(truth, str | Path) else list(truth)
    try:
        return open_pairs(source, None, inputs), False
    except DataError:
        return open_pairs(source, source, inputs), True
