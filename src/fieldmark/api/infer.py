"""Propose rules from the data."""

from __future__ import annotations

from contextlib import closing

from fieldmark.config.proposal import render_proposal
from fieldmark.data.inputs import InputLike
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.errors import DataError
from fieldmark.model.case import CaseInput
from fieldmark.plan.infer import RuleInferrer
from fieldmark.run.input_options import InputsLike, read_inputs

__all__ = ["infer"]


def infer(
    truth: InputLike, candidate: InputLike | None = None, *, inputs: InputsLike = None
) -> str:
    """The text of a rules file that fits the data, with a reason for every choice.

    >>> import fieldmark as fm
    >>> print(fm.infer([{"issued": "2024-05-03"}, {"issued": "2024-06-01"}]).splitlines()[-1])
      - {path: issued, match: date}
    """
    inferrer = RuleInferrer()
    how = read_inputs(inputs)
    stream = open_truth(truth, how) if candidate is None else open_pairs(truth, candidate, how)
    unread = ""
    with closing(stream):
        for batch in stream.batches():
            for case in batch:
                if case.input is CaseInput.INVALID_TRUTH:
                    unread = unread or case.note
                else:
                    inferrer.add(case.expected, case.candidate)
    if unread and not inferrer.cases:
        raise DataError(f"no truth can be read; the first: {unread}")
    told = "".join(f"# warning: {_one_line(text)}\n" for text in stream.warnings)
    return told + render_proposal(inferrer.rules(), cases=inferrer.cases)


def _one_line(text: str) -> str:
    """A warning as it may stand in a comment, whatever the names in it hold."""
    return "".join(character if character.isprintable() else " " for character in text)
