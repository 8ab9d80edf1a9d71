"""Read the eval files of AgentV as they are, of its design era and of 4.x."""

from __future__ import annotations

from fieldmark.config.agentv.suite import is_agentv, read_agentv

__all__ = ["is_agentv", "read_agentv"]
