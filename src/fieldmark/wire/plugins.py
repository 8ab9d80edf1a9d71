"""What is registered, as a record."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from fieldmark.model.json import JsonObject

__all__ = ["RegisteredPlugin"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPlugin:
    """A strategy that is registered by name: where it comes from, and why it cannot be used."""

    kind: str
    name: str
    summary: str
    package: str
    version: str
    target: str
    error: str = ""

    def to_dict(self) -> JsonObject:
        """Return the record as JSON."""
        return asdict(self)
