"""The problems found in a configuration, and the context that its readers share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from fieldmark.errors import ConfigError, Location, Problem
from fieldmark.metrics.conventions import Convention
from fieldmark.metrics.gates import Gate
from fieldmark.model.comparison import Provider
from fieldmark.model.json import JsonObject
from fieldmark.model.rule import Rules
from fieldmark.values.value_confidences import ConfidenceOptions

_SHOWN: Final = 1_000
"""How much is shown of both ends of a message that names something long from a file."""


def _shown(message: str) -> str:
    return message if len(message) <= 2 * _SHOWN else f"{message[:_SHOWN]}…{message[-_SHOWN:]}"


class Problems:
    """Collects problems and warnings."""

    __slots__ = ("_found", "_warnings")

    def __init__(self) -> None:
        self._found: list[Problem] = []
        self._warnings: list[Problem] = []

    def add(self, message: str, location: Location, hint: str = "") -> None:
        """Record a problem; the configuration cannot be used."""
        self._found.append(Problem(_shown(message), location, hint))

    def warn(self, message: str, location: Location, hint: str = "") -> None:
        """Record a warning; the configuration can still be used."""
        self._warnings.append(Problem(_shown(message), location, hint))

    def add_duplicates(
        self,
        named: Iterable[tuple[str, Location]],
        noun: str,
        key: Callable[[str], Hashable] = str,
    ) -> None:
        """Record a problem for each duplicate name, with the line of the first."""
        first: dict[Hashable, Location] = {}
        for name, location in named:
            if key(name) in first:
                line = first[key(name)].line
                hint = f"first defined at line {line}" if line else ""
                self.add(f"duplicate {noun} {name!r}", location, hint)
            else:
                first[key(name)] = location

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """All warnings."""
        return tuple(self._warnings)

    def __len__(self) -> int:
        return len(self._found)

    def raise_any(self) -> None:
        """Raise an error with all problems, if there are any."""
        if self._found:
            raise self.error()

    def error(self) -> ConfigError:
        """Return an error with all problems, sorted by location; each place is named once.

        Several targets may share a place in a file. In Python, places have no line.
        """
        seen = dict.fromkeys(each for each in self._found if each.location.line)
        return ConfigError(
            sorted(
                [*seen, *(each for each in self._found if not each.location.line)],
                key=lambda each: (each.location.line or 0, each.location.column or 0),
            )
        )


class Code(StrEnum):
    """Whether rules may name Python functions: not at all, only to be checked, or to be run."""

    REFUSE = "refuse"
    CHECK = "check"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """State that the readers of a configuration share.

    `thresholds` are those of the file, by comparator, for fields without their own.
    With `contained`, only files below the directory of the configuration are read. `code` says
    whether rules may name Python functions.
    """

    problems: Problems = field(default_factory=Problems)
    directory: Path | None = None
    provider: Provider | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    strict: bool = False
    contained: bool = True
    code: Code = Code.REFUSE

    def add(self, message: str, location: Location, hint: str = "") -> None:
        """Record a problem; the configuration cannot be used."""
        self.problems.add(message, location, hint)

    def warn(self, message: str, location: Location, hint: str = "") -> None:
        """Record a warning; the configuration can still be used."""
        self.problems.warn(message, location, hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRules:
    """Valid rules, what else their file sets, and warnings about them.

    `thresholds` are those of the file for `fuzzy` and `semantic`, `safety` is its safety judge, and
    `confidence` says how the confidences of predictions are read, if they are. `source` is the
    native form of the rules as JSON, without models, unless they contain functions.
    """

    rules: Rules
    provider: Provider | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    convention: Convention | None = None
    gates: tuple[Gate, ...] = ()
    safety: object | None = None
    confidence: ConfidenceOptions | None = None
    warnings: tuple[Problem, ...] = ()
    source: JsonObject | None = None

    @property
    def safety_judge(self) -> object | None:
        """The judge of safety; `None` also for `none`, which only says that there is none."""
        return None if getattr(self.safety, "name", "none") == "none" else self.safety
