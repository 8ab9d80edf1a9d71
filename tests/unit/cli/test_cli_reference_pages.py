"""The pages list every key, convention and outcome, with the words of the code.

Strategies and their options are in generated parts of the documentation site.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fieldmark import registry
from fieldmark.evaluators.field_evaluators import FieldEvaluator
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.model.outcome import Outcome
from fieldmark.rules.target_settings import CALL_KEYS
from fieldmark.runs.eval_file import CASE_KEYS, EVAL_KEYS

DOCS = Path(__file__).parents[3] / "docs"


def shown(value) -> str:
    """Return the value of an option as it is written in a rules file."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def convention_table() -> str:
    columns = [convention.options() for convention in CONVENTIONS.values()]
    cells = {
        option: [shown(column[option]) if column[option] is not None else "–" for column in columns]
        for option in columns[0]
        if option != "rqs_weights"
    }
    heads = " | ".join(f"`{name}`" for name in CONVENTIONS)
    lines = [f"| option | {heads} |", "|---" * (len(columns) + 1) + "|"]
    lines += [f"| `{option}` | {' | '.join(row)} |" for option, row in cells.items()]
    return "\n".join(lines)


def test_every_shared_option_of_field_evaluators_is_documented():
    page = (DOCS / "eval-files.md").read_text("utf-8")
    assert all(f"| `{name}` |" in page for name in registry.options(FieldEvaluator))


@pytest.mark.parametrize("key", sorted({*EVAL_KEYS.names, *CASE_KEYS.names, *CALL_KEYS.names}))
def test_every_key_of_an_eval_file_is_documented(key):
    assert f"`{key}`" in (DOCS / "eval-files.md").read_text("utf-8")


def test_every_option_of_every_convention_is_documented():
    assert convention_table() in (DOCS / "semantics.md").read_text("utf-8")


def test_every_outcome_is_documented():
    numbers = ", ".join(f"{outcome.value} {outcome.label}" for outcome in Outcome)
    results = (DOCS / "results.md").read_text("utf-8").replace("\n", " ")
    assert numbers in results
    semantics = (DOCS / "semantics.md").read_text("utf-8")
    assert all(f"| `{outcome.label}` |" in semantics for outcome in Outcome)
