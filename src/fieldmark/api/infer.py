"""Propose rules from data."""

from __future__ import annotations

from contextlib import closing

from fieldmark.api.arguments import checked
from fieldmark.config.proposal import render_proposal
from fieldmark.data.inputs import InputLike
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.errors import DataError
from fieldmark.model.case import CaseInput
from fieldmark.plan.infer import RuleInferrer
from fieldmark.run.options import InputsLike, read_inputs
from fieldmark.run.yaml_inputs import with_yaml

__all__ = ["infer"]


@checked
def infer(
    truth: InputLike, candidate: InputLike | None = None, *, inputs: InputsLike = None
) -> str:
    """Return the text of a rules file that fits the data, with a reason for every rule.

    >>> import fieldmark as fm
    >>> print(fm.infer([{"issued": "2024-05-03"}, {"issued": "2024-06-01"}]).splitlines()[-1])
      - {path: issued, match: date}
    """
    inferrer = RuleInferrer()
    options = read_inputs(inputs)
    truth, candidate = with_yaml(truth), with_yaml(candidate)
    stream = (
        open_truth(truth, options) if candidate is None else open_pairs(truth, candidate, options)
    )
    first_error = ""
    with closing(stream):
        for batch in stream.batches():
            for case in batch:
                if case.input is CaseInput.INVALID_TRUTH:
                    first_error = first_error or case.note
                else:
                    inferrer.add(case.expected, case.candidate)
    if first_error and not inferrer.cases:
        raise DataError(f"cannot read any ground truth; first error: {first_error}")
    # A warning can contain names from the data, which must not end the comment.
    warnings = [
        "".join(character if character.isprintable() else " " for character in text)
        for text in (*stream.structural, *stream.warnings)
    ]
    head = "".join(f"# warning: {text}\n" for text in warnings)
    return head + render_proposal(inferrer.rules(), cases=inferrer.cases)
