"""The pages list every key, convention and outcome, with the words of the code.

Strategies and their options are in generated parts of the documentation site.
"""

from __future__ import annotations

from pathlib import Path

from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.model.outcome import Outcome

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


def test_every_option_of_every_convention_is_documented():
    assert convention_table() in (DOCS / "semantics.md").read_text("utf-8")


def test_every_outcome_is_documented():
    numbers = ", ".join(f"{outcome.value} {outcome.label}" for outcome in Outcome)
    results = (DOCS / "results.md").read_text("utf-8").replace("\n", " ")
    assert numbers in results
    semantics = (DOCS / "semantics.md").read_text("utf-8")
    assert all(f"| `{outcome.label}` |" in semantics for outcome in Outcome)
