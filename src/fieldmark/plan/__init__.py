"""Rules and documents in, outcomes out: the hot path."""

from __future__ import annotations

from fieldmark.plan.plan import Plan, compile_plan

__all__ = ["Plan", "compile_plan"]
