"""The problems found in a configuration, and what its readers need to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.model.comparison import Provider

__all__ = ["Context", "Problems"]


class Problems:
    """The problems and warnings found so far, in the order of their discovery."""

    __slots__ = ("_found", "_warnings")

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._warnings: list[Problem] = []

    def add(self, message: str, location: Location, hint: str = "") -> None:
        """Record a problem that makes the configuration unusable."""
        self._found.append(Problem(message, location, hint))

    def warn(self, message: str, location: Location, hint: str = "") -> None:
        """Record something odd that does not make the configuration unusable."""
        self._warnings.append(Problem(message, location, hint))

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """All warnings."""
        return tuple(self._warnings)

    def __len__(self) -> int:
        return len(self._found)

    def raise_any(self) -> None:
        """Raise one error with every problem, in the order of the file, if there is any."""
        if self._found:
            raise self.error()

    def error(self) -> ConfigError:
        """Return one error with every problem, in the order of the file."""
        return ConfigError(
            sorted(
                self._found, key=lambda each: (each.location.line or 0, each.location.column or 0)
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What readers of configuration share: problems found, folder, provider and strictness.

    Under `contained`, only files in the folder of the configuration or below it are read.
    """

    problems: Problems = field(default_factory=Problems)
    folder: Path | None = None
    provider: Provider | None = None
    strict: bool = False
    contained: bool = True

    def add(self, message: str, location: Location, hint: str = "") -> None:
        """Record a problem that makes the configuration unusable."""
        self.problems.add(message, location, hint)

    def warn(self, message: str, location: Location, hint: str = "") -> None:
        """Record something odd that does not make the configuration unusable."""
        self.problems.warn(message, location, hint)
