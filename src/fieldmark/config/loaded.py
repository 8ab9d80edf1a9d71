"""What reading rules gives."""

from __future__ import annotations

from dataclasses import dataclass

from fieldmark.errors import Problem
from fieldmark.model.comparison import Provider
from fieldmark.model.rule import Rules

__all__ = ["LoadedRules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRules:
    """Rules that can be used, who judges meaning under them, and what is odd about them."""

    rules: Rules
    provider: Provider | None = None
    warnings: tuple[Problem, ...] = ()
