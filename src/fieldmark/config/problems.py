"""Collects what is wrong with a configuration, so that people hear of everything at once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.values.text import folded, nearest

__all__ = ["Problems", "did_you_mean"]

_SHORTEST_BEGINNING: Final = 3


class Problems:
    """The problems and warnings met so far, in the order of their discovery."""

    __slots__ = ("_found", "_warnings")

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._warnings: list[Problem] = []

    def add(self, message: str, location: Location, hint: str = "") -> None:
        """Note something that makes the configuration unusable."""
        self._found.append(Problem(message, location, hint))

    def warn(self, message: str, location: Location, hint: str = "") -> None:
        """Note something odd that the configuration can be used with."""
        self._warnings.append(Problem(message, location, hint))

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """What was odd and usable."""
        return tuple(self._warnings)

    def __len__(self) -> int:
        return len(self._found)

    def raise_any(self) -> None:
        """Raise one error with every problem, in the order of the file, if there is any."""
        if self._found:
            raise self.error()

    def error(self) -> ConfigError:
        """Every problem as one error, in the order of the file."""
        return ConfigError(sorted(self._found, key=_place))


def _place(problem: Problem) -> tuple[int, int]:
    return problem.location.line or 0, problem.location.column or 0


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """The question that names the valid word that was probably meant, or nothing.

    >>> did_you_mean("treshold", ["path", "threshold"])
    'Did you mean threshold?'
    >>> did_you_mean("numeric", ["exact", "numeric_tolerance"])
    'Did you mean numeric_tolerance?'
    """
    words = list(valid)
    meant = folded(word).replace("-", "_")
    best = nearest(meant, words) or _begun(meant, words)
    return f"Did you mean {best}?" if best else ""


def _begun(beginning: str, words: list[str]) -> str | None:
    found = [word for word in words if word.startswith(beginning)]
    return found[0] if len(found) == 1 and len(beginning) >= _SHORTEST_BEGINNING else None
