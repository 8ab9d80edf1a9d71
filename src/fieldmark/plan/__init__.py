"""The comparison of documents under rules, which is the hot path."""

from __future__ import annotations

from fieldmark.plan.plan import Plan, add_lists, compile_plan

__all__ = ["Plan", "add_lists", "compile_plan"]
