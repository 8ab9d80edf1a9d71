"""Read evaluators and eval files from YAML texts, for the tests of configuration."""

from __future__ import annotations

from pathlib import Path

from fieldmark.rules.config_values import Context
from fieldmark.rules.evaluator_settings import read_evaluators
from fieldmark.rules.yaml_parser import parse_yaml
from fieldmark.runs.eval_file import read_eval


def members(text: str, **settings):
    """Return the evaluators of a valid YAML list."""
    context = Context(**settings)
    evaluators = read_evaluators(parse_yaml(text, file="e.yaml"), context)
    context.problems.raise_any()
    return evaluators


def member(text: str, **settings):
    """Return the only evaluator of a list."""
    (only,) = members(f"[{text}]", **settings)
    return only


def evaluation(text: str, directory: Path | None = None, *, contained: bool = True):
    """Return the evaluation in a valid YAML text."""
    context = Context(directory=directory, contained=contained)
    spec = read_eval(parse_yaml(text, file="e.eval.yaml"), context)
    context.problems.raise_any()
    return spec


def evaluator_problems(text: str, **settings) -> list[str]:
    """Return the problems of a YAML list of evaluators, one per line."""
    context = Context(**settings)
    read_evaluators(parse_yaml(text, file="e.yaml"), context)
    return str(context.problems.error()).splitlines()


def eval_file_problems(
    text: str, directory: Path | None = None, *, contained: bool = True
) -> list[str]:
    """Return the problems of an eval file, one per line."""
    context = Context(directory=directory, contained=contained)
    read_eval(parse_yaml(text, file="e.yaml"), context)
    return str(context.problems.error()).splitlines()
