"""Read AgentV eval files, both early versions and 4.x."""

from __future__ import annotations

from fieldmark.rules.agentv.suite import is_agentv, native_form

__all__ = ["is_agentv", "native_form"]
