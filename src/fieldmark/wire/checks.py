"""The checks of an installation, as records."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum

from fieldmark.model.json import JsonObject

__all__ = ["Check", "CheckStatus"]


class CheckStatus(StrEnum):
    """The result of a check: `off` is an optional feature that is not installed."""

    OK = "ok"
    OFF = "off"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: what was found, and what to do about it."""

    name: str
    status: CheckStatus
    found: str
    fix: str = ""

    def to_dict(self) -> JsonObject:
        """Return the check as JSON."""
        return asdict(self)
