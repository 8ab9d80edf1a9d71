"""Propose rules from data, or from a JSON Schema."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Final

from fieldmark.api.arguments import checked
from fieldmark.api.proposed_rules import ProposedRules
from fieldmark.config.files import MAX_TABLE_BYTES, load_table
from fieldmark.config.located import Located
from fieldmark.config.proposal import proposed_rules
from fieldmark.config.rules_file import read_rules
from fieldmark.config.schema_rules import is_json_schema
from fieldmark.data.inputs import InputLike, Inputs
from fieldmark.data.pairing import open_pairs, open_truth
from fieldmark.errors import ConfigError, DataError
from fieldmark.model.case import CaseInput
from fieldmark.plan.infer import RuleInferrer
from fieldmark.run.run_options import InputsLike, read_inputs
from fieldmark.run.yaml_inputs import with_yaml
from fieldmark.values.text import plural

__all__ = ["infer", "propose_rules"]

_SUFFIXES: Final = frozenset((".json", ".yaml", ".yml"))
_KEYWORDS: Final = (b"$schema", b"properties", b"$defs")


@checked
def infer(
    truth: InputLike, candidate: InputLike | None = None, *, inputs: InputsLike = None
) -> str:
    """Return the text of a rules file that fits the data, with a reason for every rule.

    A single JSON or YAML file that is a JSON Schema is read as in `rules_from`.

    >>> import fieldmark as fm
    >>> print(fm.infer([{"issued": "2024-05-03"}, {"issued": "2024-06-01"}]).splitlines()[-1])
      - {path: issued, match: date}
    """
    return str(propose_rules(truth, candidate, read_inputs(inputs)))


def propose_rules(truth: InputLike, candidate: InputLike | None, options: Inputs) -> ProposedRules:
    """Return proposed rules for data, or for the values that a JSON Schema describes."""
    schema = None if candidate is not None or options != Inputs() else _json_schema(truth)
    if schema is not None:
        from fieldmark.api.rules_from import rules_of_located_schema  # rarely needed

        name = Path(schema.location.file).name
        return rules_of_located_schema(schema, f"the JSON Schema {name}")
    inferrer = RuleInferrer(lambda rules: read_rules(proposed_rules(rules)).rules)
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
    warnings = (*stream.structural, *stream.warnings)
    return ProposedRules(
        inferrer.rules(), plural(inferrer.cases, "case"), warnings, is_from_schema=False
    )


def _json_schema(given: InputLike) -> Located | None:
    """Return a file if it contains a JSON Schema."""
    if not isinstance(given, str | Path) or Path(given).suffix.lower() not in _SUFFIXES:
        return None
    try:
        if not Path(given).is_file():
            return None  # a pipe can be read only once
        with Path(given).open("rb") as file:
            start = file.read(MAX_TABLE_BYTES)
        # Most data files are not parsed twice.
        if not any(keyword in start for keyword in _KEYWORDS):
            return None
        located = load_table(given)
    except (OSError, ConfigError):
        return None  # the error is reported when the file is read as data
    return located if is_json_schema(located.value) else None
