"""Rules and documents in, outcomes out: the hot path."""

from fieldmark.plan.compile import Plan, compile_plan

__all__ = ["Plan", "compile_plan"]
