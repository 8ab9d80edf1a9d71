"""Reads evaluators and eval files out of YAML texts, for the tests of configuration."""

from __future__ import annotations

from pathlib import Path

from fieldmark.config.context import Context
from fieldmark.config.eval_file import read_eval
from fieldmark.config.evaluators import read_evaluators
from fieldmark.config.yaml_parser import parse_yaml


def members(text: str, **context):
    """The evaluators of a YAML list, which must be fine."""
    told = Context(**context)
    found = read_evaluators(parse_yaml(text, file="e.yaml"), told)
    told.problems.raise_any()
    return found


def member(text: str, **context):
    """The only evaluator of a list with one in it."""
    (only,) = members(f"[{text}]", **context)
    return only


def evaluation(text: str, folder: Path | None = None, *, contained: bool = True):
    """The evaluation that a YAML text describes, which must be fine."""
    told = Context(folder=folder, contained=contained)
    spec = read_eval(parse_yaml(text, file="e.eval.yaml"), told)
    told.problems.raise_any()
    return spec


def said_of_members(text: str, **context) -> list[str]:
    """What is wrong with the evaluators of a YAML list, line by line."""
    told = Context(**context)
    read_evaluators(parse_yaml(text, file="e.yaml"), told)
    return str(told.problems.error()).splitlines()


def said_of(text: str, folder: Path | None = None, *, contained: bool = True) -> list[str]:
    """What is wrong with an eval file, line by line."""
    told = Context(folder=folder, contained=contained)
    read_eval(parse_yaml(text, file="e.yaml"), told)
    return str(told.problems.error()).splitlines()
