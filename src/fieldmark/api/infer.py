"""Propose rules from the data."""

from __future__ import annotations

from fieldmark.api.score import Source
from fieldmark.config.proposal import render_proposal
from fieldmark.data import Inputs, open_pairs
from fieldmark.model.case import CaseInput
from fieldmark.plan.propose import Proposer

__all__ = ["infer"]


def infer(truth: Source, candidate: Source | None = None, *, inputs: Inputs | None = None) -> str:
    """The text of a rules file that fits the data, with a reason for every choice.

    >>> import fieldmark as fm
    >>> print(fm.infer([{"issued": "2024-05-03"}, {"issued": "2024-06-01"}]).splitlines()[-1])
    """
    proposer = Proposer()
    cases = 0
    for batch in open_pairs(truth, candidate, inputs or Inputs()).batches():
        for case in batch:
            if case.input is not CaseInput.INVALID_TRUTH:
                proposer.add(case.expected, case.candidate)
                cases += 1
    return render_proposal(proposer.proposals(), cases=cases)
