"""The reference pages list every strategy and option: their tables are generated from the code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from pathlib import Path

import pytest

from fieldmark import registry
from fieldmark.config.eval_file import CASE_KEYS, EVAL_KEYS
from fieldmark.config.targets import CALL_KEYS
from fieldmark.evaluators.field_evaluator import FieldEvaluator
from fieldmark.metrics.conventions import CONVENTIONS
from fieldmark.model.json import MISSING
from fieldmark.model.outcome import Outcome
from fieldmark.registry import Plugin

DOCS = Path(__file__).parents[3] / "docs"
BUILT_IN = "fieldmark."
PAGES = {
    Plugin.READERS: "plugins.md",
    Plugin.EXPORTERS: "plugins.md",
    Plugin.EVALUATORS: "eval-files.md",
    Plugin.SAFETY: "meaning.md",
    Plugin.TARGETS: "eval-files.md",
}
"""The page of each kind; `rules.md` for all others."""


def shown(value) -> str:
    """Return a default as it is written in a rules file."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return ", ".join(map(shown, value))
    if isinstance(value, Mapping):
        return "; ".join(f"{key} {shown(part)}" for key, part in value.items())
    if isinstance(value, float):
        return f"{value:g}" if value > 1e6 else str(value)
    if is_dataclass(value) and not hasattr(type(value), "name"):
        return ", ".join(f"{key} {shown(part)}" for key, part in asdict(value).items())
    return getattr(type(value), "name", str(value))


def option_text(option) -> str:
    if option.default is MISSING:
        return f"`{option.name}` (required)"
    if option.default is None or option.default in ("", (), {}, frozenset()):
        return f"`{option.name}`"
    return f"`{option.name}` ({shown(option.default)})"


def strategy_table(kind: Plugin) -> str:
    """Return a row for each built-in: name, summary, options and defaults."""
    rows = []
    for name in registry.names(kind):
        strategy = registry.load(kind, name)
        if not strategy.__module__.startswith(BUILT_IN):
            continue
        summary = (strategy.__doc__ or "").splitlines()[0]
        # The options that all field evaluators share have their own table.
        shared = registry.options(FieldEvaluator) if issubclass(strategy, FieldEvaluator) else {}
        own = [each for key, each in registry.options(strategy).items() if each != shared.get(key)]
        options = ", ".join(map(option_text, own))
        rows.append(f"| `{name}` | {summary} | {options or '–'} |")
    return "\n".join(rows)


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


@pytest.mark.parametrize("kind", list(Plugin))
def test_every_strategy_is_documented_with_its_options(kind):
    page = PAGES.get(kind, "rules.md")
    assert strategy_table(kind) in (DOCS / page).read_text("utf-8")


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
